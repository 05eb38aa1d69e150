import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { ClientRequest, IncomingMessage } from "node:http";

const STARTED = "http.client.request.start";
const REPLIED = "http.client.response.finish";
/** The longest time in which a service on this machine answers a request that it has received. */
const ANSWER_MS = 30_000;

/** The HTTP requests that this process has sent since, and that have not ended. */
export class HttpTraffic implements Disposable {
  readonly #open = new Set<ClientRequest>();
  readonly #onStart = (message: unknown): void => {
    const { request } = message as { request: ClientRequest };
    this.#open.add(request);
    request.once("close", () => this.#open.delete(request));
  };

  #dateOf: (() => number) | undefined;
  readonly #onReply = (message: unknown): void => {
    const { response } = message as { response: IncomingMessage };
    if (this.#dateOf) response.headers.date = new Date(this.#dateOf()).toUTCString();
  };

  constructor() {
    subscribe(STARTED, this.#onStart);
    subscribe(REPLIED, this.#onReply);
  }

  /** Puts a time of the test into the `Date` of every reply, or leaves the service's own. */
  dateReplies(dateOf: (() => number) | undefined): void {
    this.#dateOf = dateOf;
  }

  /**
   * Resolves once every request has ended, and everything has run that the replies started. Rejects if a request is never
   * answered. Otherwise a test that has failed would keep the event loop running, and its worker would not end.
   * @param hangs returns whether nothing will answer the request with this `x-ms-client-request-id`.
   */
  async quiet(hangs: (requestId: string) => boolean): Promise<void> {
    const untilMs = performance.now() + ANSWER_MS;
    do {
      if (performance.now() > untilMs) throw new Error(`A request was not answered within ${ANSWER_MS} ms.`);
      // One turn for a timer's callback, one for the effects of a reply, and one for the request that they send.
      for (let turn = 0; turn < 3; turn += 1) await eventLoopTurn();
    } while ([...this.#open].some((request) => !hangs(String(request.getHeader("x-ms-client-request-id")))));
  }

  [Symbol.dispose](): void {
    unsubscribe(STARTED, this.#onStart);
    unsubscribe(REPLIED, this.#onReply);
  }
}

/** Lets everything run that is ready to run. */
export async function eventLoopTurn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}
