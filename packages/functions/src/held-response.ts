import type { OutgoingHttpHeaders } from "node:http";
import type { Response } from "@google-cloud/functions-framework";

/** The status line and the headers of an answer. */
interface Head {
  readonly statusCode: number;
  readonly statusMessage: string;
  readonly headers: OutgoingHttpHeaders;
}

/** An answer that is held back: the arguments of `end()`, and the head. */
interface HeldEnd {
  readonly args: unknown[];
  readonly head: Head;
}

/** The events whose listeners wait for the response to be sent. */
const SENT_EVENTS: readonly (string | symbol)[] = ["finish", "close"];

/**
 * Holds back the end of a response until the lease is released, because the platform takes the processor away once a response is
 * sent. A streamed response is sent as it is written. A response that somebody waits for is sent at once, because otherwise that
 * code would wait for the release, and the release for that code. Only the first answer counts.
 */
export class HeldResponse {
  readonly #response: Response;
  readonly #end: Response["end"];
  readonly #write: Response["write"];
  readonly #before: Head;
  readonly #waitingBefore: number;
  #streamed = false;
  #held: HeldEnd | undefined;

  constructor(response: Response) {
    this.#response = response;
    this.#end = response.end.bind(response) as Response["end"];
    this.#write = response.write.bind(response) as Response["write"];
    this.#before = headOf(response);
    this.#waitingBefore = waitingFor(response);
    response.write = ((...args: unknown[]) => {
      this.#streamed = true;
      return Reflect.apply(this.#write, undefined, args) as boolean;
    }) as Response["write"];
    response.end = ((...args: unknown[]) => this.#hold(args)) as Response["end"];
    response.on("newListener", this.#onWait);
  }

  /** True if there is an answer already. */
  get isGiven(): boolean {
    return this.#held !== undefined || this.#response.headersSent;
  }

  /** The status of the answer, or else the status that an answer would have now. */
  get statusCode(): number {
    return this.#held?.head.statusCode ?? this.#response.statusCode;
  }

  /** Sends the answer that was held back, and restores the response's own methods. */
  letGo(): void {
    const held = this.#restore();
    if (!held) return;
    if (!this.#response.headersSent) setHead(this.#response, held.head);
    Reflect.apply(this.#end, undefined, held.args);
  }

  /** Discards the answer that was held back, so that another one can be given. */
  drop(): void {
    if (this.#restore() && !this.#response.headersSent) setHead(this.#response, this.#before);
  }

  readonly #onWait = (event: string | symbol): void => {
    if (this.#held && SENT_EVENTS.includes(event)) this.letGo();
  };

  #hold(args: unknown[]): Response {
    if (this.#held) return this.#response;
    this.#held = { args, head: headOf(this.#response) };
    // Make `headersSent` true, because code may check it before it gives another answer.
    Object.defineProperty(this.#response, "headersSent", { configurable: true, get: () => true });
    if (this.#streamed || waitingFor(this.#response) > this.#waitingBefore) this.letGo();
    return this.#response;
  }

  #restore(): HeldEnd | undefined {
    const held = this.#held;
    this.#held = undefined;
    this.#response.end = this.#end;
    this.#response.write = this.#write;
    this.#response.off("newListener", this.#onWait);
    // The property on the object hides the getter of its class.
    Reflect.deleteProperty(this.#response, "headersSent");
    return held;
  }
}

function headOf(response: Response): Head {
  return { statusCode: response.statusCode, statusMessage: response.statusMessage, headers: { ...response.getHeaders() } };
}

function setHead(response: Response, { statusCode, statusMessage, headers }: Head): void {
  for (const name of response.getHeaderNames()) response.removeHeader(name);
  for (const [name, value] of Object.entries(headers)) if (value !== undefined) response.setHeader(name, value);
  response.statusCode = statusCode;
  response.statusMessage = statusMessage;
}

function waitingFor(response: Response): number {
  return SENT_EVENTS.reduce((count, event) => count + response.listenerCount(event), 0);
}
