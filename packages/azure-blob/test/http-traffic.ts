import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { ClientRequest, IncomingMessage } from "node:http";

const STARTED = "http.client.request.start";
const REPLIED = "http.client.response.finish";
/** The longest time for which a service on this machine leaves a request unanswered that it has received. */
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

  /** Puts a time of the test's own into the `Date` of every reply, or leaves it to the service. */
  dateReplies(dateOf: (() => number) | undefined): void {
    this.#dateOf = dateOf;
  }

  /**
   * Resolves once every request has ended, and all that the replies set off has run. Rejects where one is never answered: a test
   * that has failed by then would turn the event loop for ever, and keep its worker from ending.
   * @param hangs whether a request, of this `x-ms-client-request-id`, is one that nobody is about to answer.
   */
  async quiet(hangs: (requestId: string) => boolean): Promise<void> {
    const untilMs = performance.now() + ANSWER_MS;
    do {
      if (performance.now() > untilMs) throw new Error(`A request was not answered within ${ANSWER_MS} ms.`);
      // One turn for a timer's callback, one for what a reply sets off, and one for the request that this sends.
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
