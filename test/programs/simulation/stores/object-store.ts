import type { LeaseRecord } from "@leasehold/core/provider";
import { carry, type AcceptedWrite, type Network, type ProcessClock, type VirtualClock } from "@leasehold/core/testing";
import { ObjectStorageLeaseStore } from "@leasehold/object-storage";
import type { ObjectReply } from "@leasehold/test-kit/object-server/messages";
import { ObjectBucket, type StoredObject } from "@leasehold/test-kit/object-server/object-bucket";
import { directClient } from "@leasehold/test-kit/simulated/object-client";
import { SimulatedRecords, type RecordService } from "./record-store.ts";
import type { RequestFailure, StoreAccess } from "./simulated-store.ts";

const BUCKET = "leases";
const PREFIX = "leasehold/";
const REGISTER = "register";
/** The service's clock when the world's is zero, in milliseconds since the Unix epoch. */
const EPOCH_MS = 1_700_000_000_000;

/** An error answer of the service, where another service would break the connection. */
class ErrorReply extends Error {
  readonly reply: ObjectReply;

  constructor(reply: ObjectReply) {
    super(`HTTP ${reply.status}`);
    this.reply = reply;
  }
}

/** Google Cloud Storage in virtual time, as the real provider reaches it. */
class ObjectService implements RecordService {
  onAccepted: ((write: AcceptedWrite) => void) | undefined;
  /** Called for each guarded write that was accepted, with the term and the text. */
  onGuarded: ((term: number, text: string) => void) | undefined;
  readonly #world: VirtualClock;
  readonly #bucket: ObjectBucket;
  #sentMs = 0;

  constructor(world: VirtualClock, rate: number) {
    this.#world = world;
    this.#bucket = new ObjectBucket(BUCKET, () => EPOCH_MS + world.monotonicMs() * rate);
    this.#bucket.onWritten = (key, before, object) => this.#wrote(key, before, object);
  }

  connect(process: ProcessClock, network: Network): ObjectStorageLeaseStore["records"] {
    return this.open(process, network).records;
  }

  open(process: ProcessClock, network: Network): ObjectStorageLeaseStore {
    const client = directClient(this.#bucket, async (serve, sent) => await this.#carry(process, network, serve, sent));
    return new ObjectStorageLeaseStore({ client, bucket: BUCKET, prefix: PREFIX, clock: process });
  }

  admits(): boolean {
    throw new Error("Guarded writes are requests to the service.");
  }

  overwrite(election: string, data: unknown): void {
    this.#bucket.objects.delete(PREFIX + election);
    const { onAccepted } = this;
    this.onAccepted = undefined;
    this.#bucket.put(PREFIX + election, new TextEncoder().encode(JSON.stringify(data)), {}, undefined);
    this.onAccepted = onAccepted;
  }

  async #carry(process: ProcessClock, network: Network, serve: () => ObjectReply, sent: string): Promise<ObjectReply> {
    const kind = sent.startsWith("PUT") ? "put" : "get";
    const operation = sent.endsWith(REGISTER) ? `register ${kind}` : kind;
    const sentMs = this.#world.monotonicMs();
    const arrive = (): ObjectReply => {
      this.#sentMs = sentMs;
      return serve();
    };
    return await carry(this.#world, process, network({ operation }), arrive).catch((error: unknown) => {
      if (error instanceof ErrorReply) return error.reply;
      throw error;
    });
  }

  #wrote(key: string, before: StoredObject | undefined, object: StoredObject): void {
    if (key === REGISTER) {
      const [term] = (object.headers["x-goog-meta-leasehold-fence"] ?? "").split(" ");
      const text = new TextDecoder().decode(object.body);
      const isSeal = before !== undefined && new TextDecoder().decode(before.body) === text;
      if (text !== "" && !isSeal) this.onGuarded?.(Number(term), text);
      return;
    }
    const election = decodeURIComponent(key.slice(PREFIX.length));
    if (election.startsWith(".")) return;
    const atMs = this.#world.monotonicMs();
    this.onAccepted?.({ election, before: before && recordOf(before), record: recordOf(object), atMs, sentMs: this.#sentMs });
  }
}

/** Elections in objects: the real `ObjectStorageLeaseStore`. Guarded writes go to an object beside the leases. */
export class SimulatedObjects extends SimulatedRecords {
  readonly #objects: ObjectService;

  constructor(world: VirtualClock, rate: number) {
    const objects = new ObjectService(world, rate);
    super(world, objects, { storeClock: { toleranceMs: 4_000, exact: false } });
    this.#objects = objects;
    objects.onGuarded = (term, entry) => this.view.wrote({ term, entry });
  }

  override connect(process: ProcessClock, network: Network): StoreAccess {
    const { store } = super.connect(process, network);
    const fences = this.#objects.open(process, network);
    return {
      store,
      seal: async (leadership) => await fences.seal(leadership, REGISTER, { signal: leadership.signal }),
      write: async (leadership, entry) => await fences.fencedPut(leadership, REGISTER, `${leadership.term}/${entry}`),
    };
  }

  override failure(how: RequestFailure, _: string, retryAfterMs: number): Error {
    if (how === "reset" || how === "refused") {
      return Object.assign(new Error(how), { code: how === "reset" ? "ECONNRESET" : "ECONNREFUSED" });
    }
    const headers = { "retry-after": String(retryAfterMs / 1_000), "x-guploader-uploadid": "R" };
    return new ErrorReply({ status: how === "denied" ? 403 : 429, headers, body: new Uint8Array() });
  }
}

function recordOf({ body }: StoredObject): LeaseRecord {
  const { writeId: _, ...record } = JSON.parse(new TextDecoder().decode(body)) as LeaseRecord & { readonly writeId?: string };
  return record;
}
