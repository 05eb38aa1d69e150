import type { Response } from "@google-cloud/functions-framework";

/**
 * Holds back the end of a response until the lease is given up: once it is sent, the platform takes the processor away.
 * A response that is streamed goes out as it is written, its end too: whoever streams waits for that end.
 */
export class HeldResponse {
  readonly #response: Response;
  readonly #end: Response["end"];
  #held: (() => void) | undefined;

  constructor(response: Response) {
    this.#response = response;
    this.#end = response.end.bind(response) as Response["end"];
    const end = (...args: unknown[]): Response => {
      // Only the first end of a response counts.
      if (this.#held) return response;
      const send = (): void => {
        response.end = this.#end;
        this.#held = undefined;
        Reflect.apply(this.#end, undefined, args);
      };
      if (response.headersSent) send();
      else this.#held = send;
      return response;
    };
    response.end = end as Response["end"];
  }

  /** Whether there is an answer already. */
  get isGiven(): boolean {
    return this.#held !== undefined || this.#response.headersSent;
  }

  /** Sends what was held back; from here on the response is as it was. */
  letGo(): void {
    this.#response.end = this.#end;
    this.#held?.();
  }
}
