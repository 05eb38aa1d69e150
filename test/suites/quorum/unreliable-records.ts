import type { Faults, HeldRequests } from "@leasehold/conformance";
import type {
  GetOptions,
  LeaseRecord,
  ListRecordsOptions,
  PutOptions,
  RecordRequestOptions,
  RecordStore,
} from "@leasehold/core/provider";

/** Sends a request for a caller that may stop waiting for it. */
type Send = <T>(request: (options: RecordRequestOptions) => Promise<T>, signal: AbortSignal) => Promise<T>;

const reliably: Send = async (request, signal) => await request({ signal });

/** The faults of whole requests for a record, between the engine and a store. */
export class UnreliableRecords implements Faults {
  #send: Send = reliably;
  #farthest: Promise<unknown> | undefined;

  /** Resolves once a request that is sent now has reached its farthest point, or is `undefined` if it will be answered. */
  get farthest(): Promise<unknown> | undefined {
    return this.#farthest;
  }

  /** Returns the connection to a store. */
  to(records: RecordStore): RecordStore {
    return {
      name: records.name,
      capabilities: records.capabilities,
      get: (election: string, options: GetOptions) =>
        this.#send((sent) => records.get(election, { ...options, ...sent }), options.signal),
      put: (election: string, record: LeaseRecord, options: PutOptions) =>
        this.#send((sent) => records.put(election, record, { ...options, ...sent }), options.signal),
      list: (prefix: string, { pageSize, request }: ListRecordsOptions) =>
        records.list!(prefix, {
          pageSize,
          request: async (send) =>
            await request(async (options) => await this.#send((sent) => send({ ...options, ...sent }), options.signal)),
        }),
    };
  }

  async loseRequests(): Promise<void> {
    this.#begin((_, signal) => givenUp(signal), Promise.resolve());
  }

  async loseReplies(): Promise<void> {
    const { promise: lost, resolve } = Promise.withResolvers<void>();
    this.#begin(async (request, signal) => {
      void onTheWay(request).then(resolve);
      return await givenUp(signal);
    }, lost);
  }

  async hold(): Promise<HeldRequests> {
    const { promise: arrived, resolve: hasArrived } = Promise.withResolvers<void>();
    const held: Array<() => Promise<unknown>> = [];
    this.#begin(async (request, signal) => {
      const { promise: delivered, resolve } = Promise.withResolvers<ReturnType<typeof request>>();
      held.push(async () => {
        const answer = request({ signal: new AbortController().signal });
        resolve(answer);
        await answer.catch(() => undefined);
      });
      hasArrived();
      return await Promise.race([delivered, givenUp(signal)]);
    }, Promise.resolve());
    return { arrived, letGo: async () => void (await Promise.all(held.splice(0).map((deliver) => deliver()))) };
  }

  async duplicate(): Promise<void> {
    this.#begin(async (request, signal) => {
      this.#begin(reliably);
      await onTheWay(request);
      return await request({ signal });
    });
  }

  async heal(): Promise<void> {
    this.#begin(reliably);
  }

  #begin(send: Send, farthest?: Promise<unknown>): void {
    this.#send = send;
    this.#farthest = farthest;
  }
}

/** The request arrives, even if its caller stops waiting. */
async function onTheWay(request: (options: RecordRequestOptions) => Promise<unknown>): Promise<void> {
  await request({ signal: new AbortController().signal }).catch(() => undefined);
}

function givenUp(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  const giveUp = (): void => reject(signal.reason as Error);
  if (signal.aborted) giveUp();
  else signal.addEventListener("abort", giveUp, { once: true });
  return promise;
}
