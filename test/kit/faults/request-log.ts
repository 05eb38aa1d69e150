import type { IncomingHttpHeaders } from "node:http";
import type { Fault } from "./fault.ts";

/** A request as a proxy received it. */
export interface ReceivedRequest {
  readonly method: string;
  /** Without the query, and still percent-encoded: `/devstoreaccount1/container/blob`. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** The headers, by their names in lower case. */
  readonly headers: Readonly<IncomingHttpHeaders>;
  readonly body: Buffer;
  /** The time at which it began to arrive, by `performance.now()`. */
  readonly receivedMs: number;
}

/** A request that a proxy has recorded. Its fault, times and deliveries are filled in later. */
export interface ProxiedRequest extends ReceivedRequest {
  /** Its meaning to the service, such as `lease:renew`. */
  readonly name: string;
  /** The fault that it met. */
  readonly fault: Fault | undefined;
  /** One delivery for each time that it was forwarded: none if it was lost on the way, two if it was duplicated. */
  readonly deliveries: readonly Delivery[];
  /** The time at which the client had got the whole reply, by `performance.now()`; `undefined` if it has not. */
  readonly answeredMs: number | undefined;
}

/** One time that a request was forwarded to the service. */
export interface Delivery {
  /** The time at which it was sent, by `performance.now()`. */
  readonly sentMs: number;
  /**
   * The time at which the reply had arrived, by `performance.now()`; `undefined` if it has not. The request was applied by then.
   */
  readonly repliedMs: number | undefined;
  /** The status of that reply. */
  readonly status: number | undefined;
}

/** A record that is still being written. */
export type OpenRecord = {
  -readonly [Key in Exclude<keyof ProxiedRequest, "deliveries">]: ProxiedRequest[Key];
} & { readonly deliveries: OpenDelivery[] };

/** A delivery that is still under way. */
export type OpenDelivery = { -readonly [Key in keyof Delivery]: Delivery[Key] };

interface Waiter {
  readonly matches: (request: ProxiedRequest) => boolean;
  readonly found: PromiseWithResolvers<ProxiedRequest>;
}

/** The requests that a proxy has received, and the callers that wait for one. */
export class RequestLog {
  /** The requests, in the order in which they had arrived whole. */
  readonly requests: OpenRecord[] = [];
  readonly #waiters = new Set<Waiter>();
  #closed: Error | undefined;

  /** Adds a request. The caller may change the record, and then calls `changed`. */
  add(received: ReceivedRequest, name: string): OpenRecord {
    const record: OpenRecord = { ...received, name, fault: undefined, deliveries: [], answeredMs: undefined };
    this.requests.push(record);
    this.changed();
    return record;
  }

  /** Checks again whether there is a request for a waiting caller. */
  changed(): void {
    for (const waiter of this.#waiters) {
      const request = this.requests.find(waiter.matches);
      if (request === undefined) continue;
      this.#waiters.delete(waiter);
      waiter.found.resolve(request);
    }
  }

  /** Resolves with the first request that matches, as soon as one does. @throws once the log is closed. */
  async waitFor(matches: (request: ProxiedRequest) => boolean): Promise<ProxiedRequest> {
    const waiter: Waiter = { matches, found: Promise.withResolvers() };
    this.#waiters.add(waiter);
    this.changed();
    if (this.#closed !== undefined) this.close(this.#closed);
    return await waiter.found.promise;
  }

  /** Forgets the requests. */
  clear(): void {
    this.requests.length = 0;
  }

  /** Ends every wait, and each later one, with `reason`. */
  close(reason: Error): void {
    this.#closed = reason;
    for (const waiter of this.#waiters) waiter.found.reject(reason);
    this.#waiters.clear();
  }
}
