import { Firestore } from "@google-cloud/firestore";
import type { GuardedText, TestEnvironment, UnreliableConnection } from "@leasehold/conformance";
import { isLeaseholdError } from "@leasehold/core";
import type { Clock } from "@leasehold/core/provider";
import { FirestoreLeaseStore } from "@leasehold/firestore";
import type { PlaceTime } from "@leasehold/test-kit/conformance/moved-time";
import { TcpNetwork } from "@leasehold/test-kit/conformance/tcp-network";
import { warmUp } from "@leasehold/test-kit/conformance/warm-up";

// Otherwise the client first searches for a metadata server, and warns that there is none.
process.env["METADATA_SERVER_DETECTION"] = "none";

/**
 * HTTP/2's GOAWAY. A client that reads it makes a new connection, and waits on this one for the requests under way (RFC 9113,
 * 6.8).
 */
const GO_AWAY: Uint8Array = Uint8Array.from([0, 0, 8, 7, 0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
/** How often a client is tested for a new connection, and the time of each test. */
const PROBES = 20;
const PROBE_MS = 250;

/** The properties of every Firestore. */
export const FIRESTORE_FACTS = {
  requests: { acquire: 1, renew: 1, release: 1, look: 1 },
  lacks: {
    duplicates: "requests go over a connection, and TCP delivers nothing twice",
  },
};

let places = 0;

/** A project for one test case. */
export class FirestorePlace implements TestEnvironment {
  readonly #host: string;
  readonly #time: PlaceTime;
  readonly #projectId: string;
  /** A client for arrangements and checks. */
  readonly #direct: Firestore;
  readonly #clients: Firestore[] = [];
  /** The clients whose network can fail. */
  readonly #unreliable: Firestore[] = [];
  #network: TcpNetwork | undefined;

  constructor(host: string, time: PlaceTime) {
    places += 1;
    this.#host = host;
    this.#time = time;
    this.#projectId = `demo-conformance-${places}`;
    this.#direct = this.#client(host);
  }

  get clock(): Clock {
    return this.#time.clock;
  }

  async connect(): Promise<FirestoreLeaseStore> {
    return await this.connectWith(this.clock);
  }

  async connectWith(clock: Clock): Promise<FirestoreLeaseStore> {
    const firestore = this.#client(this.#host);
    return this.#time.store((storeClock) => new FirestoreLeaseStore({ firestore, clock: storeClock }), { clock });
  }

  async pass(ms: number): Promise<void> {
    await this.#time.pass(ms);
  }

  async connectUnreliably(): Promise<UnreliableConnection> {
    const network = this.#network ?? (await this.#openNetwork());
    this.#network = network;
    const firestore = this.#client(`127.0.0.1:${network.port}`);
    this.#unreliable.push(firestore);
    const farthest = (): Promise<unknown> | undefined => network.farthest;
    const store = this.#time.store((clock) => new FirestoreLeaseStore({ firestore, clock }), { farthest });
    await warmUp(store, `warm-up-${this.#unreliable.length}`);
    return { store, faults: network };
  }

  async guard(): Promise<GuardedText> {
    const leases = new FirestoreLeaseStore({ firestore: this.#direct });
    const document = this.#direct.doc("documents/guarded");
    return {
      read: async () => String((await document.get()).get("text") ?? ""),
      write: async (leadership, text) => {
        const guarded = this.#direct.runTransaction(async (transaction) => {
          await leases.fence(leadership, transaction);
          transaction.set(document, { text });
        });
        return await guarded.then(
          () => true,
          (error: unknown) => {
            if (isLeaseholdError(error, "FENCED")) return false;
            throw error;
          },
        );
      },
    };
  }

  async writeRaw(election: string, what: "foreign" | "newer-schema"): Promise<void> {
    const planted = what === "foreign" ? { owner: "somebody", note: "do not touch" } : { schema: 2, term: 7 };
    await this.#direct.doc(`leasehold/${election}`).set(planted);
  }

  async readRaw(election: string): Promise<unknown> {
    const lease = await this.#direct.doc(`leasehold/${election}`).get();
    const fence = await this.#direct.doc(`leasehold/${election}/fence/current`).get();
    return lease.exists ? { data: lease.data(), updateTime: lease.updateTime?.toString(), fence: fence.data() } : undefined;
  }

  async remove(election: string): Promise<void> {
    await this.#direct.doc(`leasehold/${election}`).delete();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#time.stop();
    await Promise.all(this.#clients.map((client) => client.terminate()));
    await this.#network?.[Symbol.asyncDispose]();
  }

  async #openNetwork(): Promise<TcpNetwork> {
    return await TcpNetwork.open(Number(this.#host.split(":")[1]), {
      goAway: GO_AWAY,
      ready: () => Promise.all(this.#unreliable.map(connected)),
    });
  }

  #client(host: string): Firestore {
    const client = new Firestore({ projectId: this.#projectId, host, ssl: false });
    this.#clients.push(client);
    return client;
  }
}

/** Resolves once the client has read something. @throws if it cannot. */
async function connected(firestore: Firestore): Promise<void> {
  for (let probe = 0; probe < PROBES; probe += 1) {
    const read = firestore.doc("probe/probe").get();
    const late = Promise.withResolvers<"late">();
    const timer = setTimeout(() => late.resolve("late"), PROBE_MS);
    const answer = await Promise.race([read, late.promise]).catch(() => "late");
    clearTimeout(timer);
    read.catch(() => undefined);
    if (answer !== "late") return;
  }
  throw new Error("The Firestore client has not connected again.");
}
