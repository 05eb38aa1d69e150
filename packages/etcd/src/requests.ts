import { StoreError } from "@leasehold/core";
import { type Clock, sendRequest, type RequestLimits } from "@leasehold/core/provider";
import type { Cluster } from "./cluster.ts";
import { isLeaseGone, STORE_NAME, toStoreError } from "./etcd-errors.ts";
import {
  EtcdFailure,
  failureInStream,
  type CallOptions,
  type EtcdPath,
  type EtcdReply,
  type EtcdTransport,
  type Json,
} from "./transport.ts";
import { headerOf, rangesOf, type EtcdCompare, type Header, type KeyValue } from "./wire.ts";

/** Limits of one request. */
export interface CallLimits extends RequestLimits {
  readonly signal?: AbortSignal | undefined;
  /** The only endpoint that may get the request. @defaultValue any */
  readonly endpoint?: string | undefined;
}

/** A transaction. If all conditions hold, etcd carries out `success`, otherwise `failure`. */
export interface Transaction {
  readonly compare?: readonly EtcdCompare[];
  readonly success: readonly Json[];
  readonly failure?: readonly Json[];
}

export interface TransactionReply {
  readonly succeeded: boolean;
  readonly header: Header;
  /** The keys of each range, in the order of the operations that were carried out. */
  readonly ranges: ReadonlyArray<readonly KeyValue[]>;
}

export interface KeepAliveReply {
  /** The remaining time of the lease, in seconds; `undefined` if the lease is gone. */
  readonly ttlS: number | undefined;
  readonly header: Header;
  /** The endpoint that answered. */
  readonly endpoint: string;
}

interface Label {
  readonly operation: string;
  readonly election: string;
  readonly writes: boolean;
  /** True if a reply shows at least the revision of every earlier reply. */
  readonly linearizable: boolean;
}

/** Options of a request for which the caller sets the time limit and publishes the outcome. */
interface Sending {
  readonly writes: boolean;
  readonly signal: AbortSignal;
}

interface CheckedReply {
  readonly body: Json;
  readonly header: Header;
  readonly endpoint: string;
}

/**
 * Sends the requests of elections on etcd. Each is sent once, within a time limit, and is published on the diagnostics channel.
 * Failures are Leasehold's errors.
 */
export class EtcdRequests {
  readonly #transport: EtcdTransport;
  readonly #clock: Clock;
  readonly #cluster: Cluster;

  constructor(transport: EtcdTransport, clock: Clock, cluster: Cluster) {
    this.#transport = transport;
    this.#clock = clock;
    this.#cluster = cluster;
  }

  /** Sends one transaction that only reads. It is linearizable, and all its ranges show one revision. */
  async read(operation: string, election: string, reading: Transaction, limits: CallLimits): Promise<TransactionReply> {
    const label = { operation, election, writes: false, linearizable: true };
    return transactionReply(await this.#send(label, "/v3/kv/txn", bodyOf(reading), limits));
  }

  async write(operation: string, election: string, transaction: Transaction, limits: CallLimits): Promise<TransactionReply> {
    const label = { operation, election, writes: true, linearizable: true };
    return transactionReply(await this.#send(label, "/v3/kv/txn", bodyOf(transaction), limits));
  }

  /**
   * Grants a lease under a number of the caller's, as decimal digits. @throws {StoreError} if etcd grants a shorter lease than
   * requested.
   */
  async grant(election: string, lease: string, ttlS: number, limits: CallLimits): Promise<void> {
    const label = { operation: "grant", election, writes: true, linearizable: false };
    const { body } = await this.#send(label, "/v3/lease/grant", { ID: lease, TTL: String(ttlS) }, limits);
    const grantedS = Number(body["TTL"] ?? 0);
    if (grantedS >= ttlS) return;
    // A lease without a key affects nothing, and ends by itself.
    const message = `${STORE_NAME}: a lease of ${grantedS} s was granted for '${election}', instead of ${ttlS} s.`;
    throw new StoreError("STORE_REJECTED", message, {
      store: STORE_NAME,
      operation: "grant",
      election,
      mayHaveBeenApplied: false,
    });
  }

  async keepAlive(election: string, lease: string, limits: CallLimits): Promise<KeepAliveReply> {
    const label = { operation: "keep-alive", election, writes: true, linearizable: false };
    const { body, header, endpoint } = await this.#send(label, "/v3/lease/keepalive", { ID: lease }, limits);
    // The gateway omits a TTL of zero.
    const ttlS = Number(body["TTL"]);
    return { ttlS: ttlS > 0 ? ttlS : undefined, header, endpoint };
  }

  /** Ends a lease, and deletes all keys on it. Reports whether it existed. */
  async revoke(election: string, lease: string, limits: CallLimits): Promise<boolean> {
    try {
      await this.#send(
        { operation: "revoke", election, writes: true, linearizable: false },
        "/v3/lease/revoke",
        { ID: lease },
        limits,
      );
      return true;
    } catch (error) {
      if (isLeaseGone(error)) return false;
      throw error;
    }
  }

  /** Returns the rest of a lease, in seconds, rounded down; a negative number if the lease is gone. */
  async timeToLive(election: string, lease: string, limits: CallLimits): Promise<number> {
    const label = { operation: "time-to-live", election, writes: false, linearizable: false };
    const { body } = await this.#send(label, "/v3/lease/timetolive", { ID: lease }, limits);
    return Number(body["TTL"] ?? 0);
  }

  /**
   * Yields the messages of a watch, until it ends or the signal aborts. @throws {StoreError} for every failure. After an abort,
   * the signal's reason.
   */
  async *watch(election: string, requests: readonly Json[], signal: AbortSignal): AsyncGenerator<Json, void, undefined> {
    try {
      yield* this.#transport.watch(
        requests.map((request) => ({ create_request: request })),
        { signal },
      );
    } catch (error) {
      throw signal.aborted ? signal.reason : toStoreError(error, "watch", election, false);
    }
  }

  /** Sends one transaction, for a caller that sets the time limit and publishes the outcome. */
  async transact(operation: string, election: string, transaction: Transaction, sending: Sending): Promise<TransactionReply> {
    return transactionReply(
      await this.#ask({ operation, election, ...sending, linearizable: true }, "/v3/kv/txn", bodyOf(transaction)),
    );
  }

  /** Sends a grant, for a caller that sets the time limit and publishes the outcome. */
  async grantNow(election: string, lease: string, ttlS: number, signal: AbortSignal): Promise<void> {
    // Does not count as a write, because a lease without a key affects nothing.
    const asking = { operation: "grant", election, writes: false, linearizable: false, signal };
    await this.#ask(asking, "/v3/lease/grant", { ID: lease, TTL: String(ttlS) });
  }

  async #send(label: Label, path: EtcdPath, body: Json, { timeoutMs, signal, endpoint }: CallLimits): Promise<CheckedReply> {
    const { operation, election, writes } = label;
    const request = { operation, election, writes, clock: this.#clock, store: STORE_NAME, timeoutMs, signal };
    return await sendRequest(
      request,
      async (abandoned) => await this.#ask({ ...label, signal: abandoned, endpoint }, path, body),
    );
  }

  /** @throws {StoreError} for every failure. {TermRegressedError} if the cluster has gone back. */
  async #ask(
    { operation, election, writes, linearizable, ...options }: Label & CallOptions,
    path: EtcdPath,
    body: Json,
  ): Promise<CheckedReply> {
    const leastRevision = linearizable ? this.#cluster.revision : -Infinity;
    let answer: CheckedReply | undefined;
    try {
      answer = answerOf(await this.#transport.call(path, body, options));
      this.#cluster.saw(election, answer.header, leastRevision);
      return answer;
    } catch (error) {
      // The other endpoints may be of the right cluster, for example if only this member was rebuilt.
      if (answer) this.#transport.leave?.(answer.endpoint);
      throw toStoreError(error, operation, election, writes);
    }
  }
}

function bodyOf({ compare = [], success, failure = [] }: Transaction): Json {
  return { compare, success, failure };
}

function transactionReply({ body, header }: CheckedReply): TransactionReply {
  return { succeeded: body["succeeded"] === true, header, ranges: rangesOf(body) };
}

/**
 * Returns etcd's answer. A success without etcd's header is a failure, because proxies and captive portals answer any request
 * with success.
 */
function answerOf({ body: given, endpoint }: EtcdReply): CheckedReply {
  if (given["error"] !== undefined) throw failureInStream(given, 200);
  const body = (given["result"] as Json | undefined) ?? given;
  const header = headerOf(body);
  if (header) return { body, header, endpoint };
  throw new EtcdFailure("the answer has no header: it does not come from etcd", { status: 200 });
}
