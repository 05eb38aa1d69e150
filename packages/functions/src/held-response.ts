import type { OutgoingHttpHeaders } from "node:http";
import type { Response } from "@google-cloud/functions-framework";

/** The status line and the headers of an answer. */
interface Head {
  readonly statusCode: number;
  readonly statusMessage: string;
  readonly headers: OutgoingHttpHeaders;
}

/** An answer that is held back: the arguments of its end, and its head. */
interface Answer {
  readonly args: unknown[];
  readonly head: Head;
}

/** The events whose listeners wait for the response to be sent. */
const SENT_EVENTS: readonly (string | symbol)[] = ["finish", "close"];

/**
 * Holds back the end of a response until the lease is given up: once it is sent, the platform takes the processor away.
 * A response that is streamed goes out as it is written, and one that somebody waits for at once: they would wait for the
 * lease, and the lease for them. Only the first answer counts.
 */
export class HeldResponse {
  readonly #response: Response;
  readonly #end: Response["end"];
  readonly #write: Response["write"];
  readonly #before: Head;
  readonly #waitingBefore: number;
  #streamed = false;
  #held: Answer | undefined;

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

  /** There is an answer already. */
  get isGiven(): boolean {
    return this.#held !== undefined || this.#response.headersSent;
  }

  /** The status of the answer, or of one that would be given now. */
  get statusCode(): number {
    return this.#held?.head.statusCode ?? this.#response.statusCode;
  }

  /** Sends what was held back; from here on the response is as it was. */
  letGo(): void {
    const held = this.#restore();
    if (!held) return;
    if (!this.#response.headersSent) setHead(this.#response, held.head);
    Reflect.apply(this.#end, undefined, held.args);
  }

  /** Forgets the answer that was held back: there is another one. */
  drop(): void {
    if (this.#restore() && !this.#response.headersSent) setHead(this.#response, this.#before);
  }

  readonly #onWait = (event: string | symbol): void => {
    if (this.#held && SENT_EVENTS.includes(event)) this.letGo();
  };

  #hold(args: unknown[]): Response {
    if (this.#held) return this.#response;
    this.#held = { args, head: headOf(this.#response) };
    // Code that checks for an answer before it gives another one has to find this one.
    Object.defineProperty(this.#response, "headersSent", { configurable: true, get: () => true });
    if (this.#streamed || waitingFor(this.#response) > this.#waitingBefore) this.letGo();
    return this.#response;
  }

  #restore(): Answer | undefined {
    const held = this.#held;
    this.#held = undefined;
    this.#response.end = this.#end;
    this.#response.write = this.#write;
    this.#response.off("newListener", this.#onWait);
    // It shadows the one of its class.
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
