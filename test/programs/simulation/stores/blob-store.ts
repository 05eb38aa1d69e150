import { BlobLeaseStore } from "@leasehold/azure-blob";
import { carry, type Network, type ProcessClock, type VirtualClock } from "@leasehold/core/testing";
import { containerOn } from "@leasehold/test-kit/simulated/azure-http";
import { AzureService, type AzureReply, type AzureRequest } from "@leasehold/test-kit/simulated/azure-service";
import {
  ELECTION,
  newServiceView,
  type RequestFailure,
  type ServiceView,
  type SimulatedStore,
  type StoreAccess,
} from "./simulated-store.ts";

const REGISTER = "register";

/** An error answer of the service, where another service would break the connection. */
class ErrorReply extends Error {
  readonly reply: AzureReply;

  constructor(reply: AzureReply) {
    super(`HTTP ${reply.status}`);
    this.reply = reply;
  }
}

/** Blob Storage with its own SDK: the real `BlobLeaseStore`, with a lease that the service itself ends. */
export class SimulatedBlobs implements SimulatedStore {
  readonly view: ServiceView = newServiceView();
  /** Occurrences are not leases of blobs but their content, which this service does not keep. */
  readonly keepsOccurrences: boolean = false;
  readonly #world: VirtualClock;
  readonly #service: AzureService;
  readonly #rate: number;
  /** The lease under which each term was named. */
  readonly #leaseIds = new Map<string, string>();

  /** @param rate of the service's own clock, which ends the leases. */
  constructor(world: VirtualClock, rate: number) {
    this.#world = world;
    this.#rate = rate;
    this.#service = new AzureService(() => Date.UTC(2026, 0, 1) + world.monotonicMs() * rate);
  }

  get held(): boolean {
    const state = this.#service.leaseOf(ELECTION)?.state;
    // A lease that breaks for a hold has no holder any more.
    const isLeft = this.#service.metadata(ELECTION)?.["leasehold_hold"] !== undefined;
    return state === "leased" || (state === "breaking" && !isLeft);
  }

  connect(process: ProcessClock, network: Network): StoreAccess {
    const client = containerOn((request) => this.#carry(process, network, request));
    const store = new BlobLeaseStore({ container: client, clock: process, createContainer: true });
    const register = client.getBlobClient(REGISTER);
    return {
      store,
      seal: (leadership) => store.seal(leadership, register, { signal: leadership.signal }),
      write: async (leadership, entry) => {
        const { term } = leadership;
        await store.fencedUpload(leadership, register, `${term}/${entry}`);
      },
    };
  }

  barredUntilMs(termId: string): number {
    const lease = this.#service.leaseOf(ELECTION);
    if (!lease || lease.id !== this.#leaseIds.get(termId) || !(lease.state === "leased" || lease.state === "breaking"))
      return -Infinity;
    return (lease.untilMs - Date.UTC(2026, 0, 1)) / this.#rate;
  }

  failure(how: RequestFailure, _: string, retryAfterMs: number): Error {
    if (how !== "throttled") return Object.assign(new Error(how), { code: how === "reset" ? "ECONNRESET" : "ECONNREFUSED" });
    const headers = { "retry-after": String(retryAfterMs / 1_000), "x-ms-request-id": "r", "x-ms-error-code": "ServerBusy" };
    return new ErrorReply({ status: 503, headers });
  }

  corrupt(): (() => void) | undefined {
    const sound = this.#service.metadata(ELECTION);
    if (!sound) return undefined;
    this.#service.overwrite(ELECTION, { ...sound, leasehold_term: "seven" });
    return () => this.#service.overwrite(ELECTION, sound);
  }

  async #carry(process: ProcessClock, network: Network, request: AzureRequest): Promise<AzureReply> {
    const url = new URL(request.url);
    const name = url.pathname.split("/").slice(3).join("/");
    const action = request.header("x-ms-lease-action") ?? url.searchParams.get("comp") ?? request.method.toLowerCase();
    const operation = name === REGISTER ? `register ${action}` : name === ELECTION ? action : `note ${action}`;
    return carry(this.#world, process, network({ operation }), () => {
      const answer = this.#service.answer(request);
      if (answer.status < 300) this.#accepted(name, url.searchParams.get("comp"), request);
      return answer;
    }).catch((error: unknown) => {
      if (error instanceof ErrorReply) return error.reply;
      throw error;
    });
  }

  #accepted(name: string, comp: string | null, request: AzureRequest): void {
    const { metadata } = request;
    const leaseId = request.header("x-ms-lease-id");
    // A write without a lease is an administrator's.
    if (name === ELECTION && comp === "metadata" && leaseId !== undefined) {
      const termId = metadata["leasehold_termid"] ?? "";
      // An administrator's write to a blob without a leader so far names no term.
      if (termId === "" || this.#leaseIds.has(termId)) return;
      this.#leaseIds.set(termId, leaseId);
      const candidateId = decodeURIComponent(metadata["leasehold_candidate"] ?? "");
      this.view.granted({ term: Number(metadata["leasehold_term"]), termId, candidateId });
    }
    if (name === REGISTER && comp === null && request.method === "PUT") {
      const term = Number(Object.entries(metadata).find(([key]) => /fence_term$/i.test(key))?.[1]);
      this.view.wrote({ term, entry: request.body });
    }
  }
}
