import type {
  Clock,
  GetOptions,
  LeaseRecord,
  ListedRecord,
  ListRecordsOptions,
  PutOptions,
  PutOutcome,
  RecordStore,
  RecordStoreCapabilities,
  StoredRecord,
  WatchOptions,
} from "@leasehold/core/provider";
import {
  continueAfter,
  isMissingLease,
  isUnmetCondition,
  STORE_NAME,
  toStoreError,
  type RequestLabel,
} from "./kubernetes-errors.ts";
import { checkElection, leasePatch, newLease, storedOf, type LeaseObject } from "./lease-object.ts";
import { LeaseWatch } from "./lease-watch.ts";
import { failureOf, type ApiRequest, type ApiTransport, type Json } from "./transport.ts";

/** Stores each record in one Lease, whose name is the election's. Its `resourceVersion` is the condition of each write. */
export class KubernetesRecordStore implements RecordStore {
  readonly name: string = STORE_NAME;
  /**
   * It has no occurrences. A Lease for each would stay for ever. The annotations of the election's Lease hold some 700, and each claim
   * there would conflict with a renewal.
   */
  readonly capabilities: RecordStoreCapabilities = {
    // All annotations of an object may have 256 KiB together. JSON encodes a control character in six bytes.
    maxValueBytes: 32_768,
    fence: "none",
    storeClock: undefined,
  };
  readonly #transport: ApiTransport;
  readonly #clock: Clock;
  readonly #leases: string;

  constructor(transport: ApiTransport, namespace: string, clock: Clock) {
    this.#transport = transport;
    this.#clock = clock;
    this.#leases = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
  }

  async get(election: string, { signal }: Pick<GetOptions, "signal">): Promise<StoredRecord | undefined> {
    checkElection(election);
    const label = { operation: "get", election, writes: false };
    // A read without a resourceVersion is consistent. A read with resourceVersion "0" may come from a cache that lags.
    const request = { method: "GET", path: this.#pathOf(election) } as const;
    const found = await this.#ask(label, request, signal, isMissingLease);
    return found && storedOf(found);
  }

  async put(election: string, record: LeaseRecord, { ifVersion, keepsNonce, signal }: PutOptions): Promise<PutOutcome> {
    checkElection(election);
    const nowMs = this.#clock.wallMs();
    const label = { operation: "put", election, writes: true };
    const request: ApiRequest =
      ifVersion === undefined
        ? { method: "POST", path: this.#leases, body: { ...KIND, ...newLease(election, record, nowMs) } }
        : {
            method: "PATCH",
            path: this.#pathOf(election),
            body: { ...leasePatch(election, record, ifVersion, keepsNonce, nowMs) },
          };
    const written = await this.#ask(label, request, signal, isUnmetCondition);
    return written ? { stored: true, version: storedOf(written).version } : { stored: false };
  }

  /** Lists the Leases of the namespace page by page. The pages may show different moments. */
  async *list(prefix: string, { pageSize, request }: ListRecordsOptions): AsyncGenerator<ListedRecord> {
    let token = "";
    // If the token has expired, the server's new token begins after the last name, so no name comes twice.
    do {
      const query = `?limit=${pageSize}${token === "" ? "" : `&continue=${encodeURIComponent(token)}`}`;
      const page = await request(async ({ signal }) => await this.#page(prefix, query, signal));
      for (const lease of page.items) {
        const election = lease.metadata?.name ?? "";
        if (election.startsWith(prefix)) yield { election, stored: storedOf(lease) };
      }
      token = page.token;
    } while (token !== "");
  }

  watch(election: string, { signal }: WatchOptions): AsyncGenerator<void> {
    checkElection(election);
    const path = `${this.#leases}?watch=1&allowWatchBookmarks=true&fieldSelector=metadata.name%3D${election}`;
    return new LeaseWatch(this.#transport, path, this.#clock).wakeUps(election, signal);
  }

  async #page(
    prefix: string,
    query: string,
    signal: AbortSignal,
  ): Promise<{ readonly items: readonly LeaseObject[]; readonly token: string }> {
    const label = { operation: "list", election: prefix, writes: false };
    const request = { method: "GET", path: this.#leases + query } as const;
    let expired: string | undefined;
    const isExpired = (error: unknown): boolean => (expired = continueAfter(error)) !== undefined;
    const found = await this.#ask(label, request, signal, isExpired);
    if (!found) return { items: [], token: expired ?? "" };
    const { items, metadata } = found as { readonly items?: readonly LeaseObject[]; readonly metadata?: { continue?: string } };
    return { items: items ?? [], token: metadata?.continue ?? "" };
  }

  /** Sends one request. Returns `undefined` for a failure that `isAnswer` accepts as an answer. */
  async #ask(
    label: RequestLabel,
    request: ApiRequest,
    signal: AbortSignal,
    isAnswer: (error: unknown) => boolean,
  ): Promise<Json | undefined> {
    signal.throwIfAborted();
    try {
      const answer = await this.#transport.call(request, signal);
      checkAnswer(answer, label.operation === "list" ? "LeaseList" : "Lease");
      return answer;
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (isAnswer(error)) return undefined;
      throw toStoreError(error, label);
    }
  }

  #pathOf(election: string): string {
    return `${this.#leases}/${election}`;
  }
}

const KIND = { apiVersion: "coordination.k8s.io/v1", kind: "Lease" } as const;

/**
 * @throws {ApiFailure} for a success that comes from another program, or that another program has changed. A write needs the
 * `resourceVersion` of its Lease, because an empty one in a patch is no condition.
 */
function checkAnswer(answer: Json, kind: "Lease" | "LeaseList"): void {
  const leases = kind === "Lease" ? [answer as LeaseObject] : ((answer["items"] ?? []) as readonly LeaseObject[]);
  if (answer["kind"] !== kind || !leases.every(({ metadata }) => metadata?.resourceVersion)) throw failureOf(200, undefined);
}
