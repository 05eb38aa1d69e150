import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A server at which handlers wait, in any process, until the test lets them continue. */
export class Gate implements AsyncDisposable {
  readonly #server = createServer((_request, response) => {
    this.#arrived.resolve();
    if (this.#open) response.end();
    else this.#waiting.push(response);
  });
  readonly #waiting: ServerResponse[] = [];
  readonly #arrived = Promise.withResolvers<void>();
  #open = false;

  static async start(): Promise<Gate> {
    const gate = new Gate();
    gate.#server.listen(0, "127.0.0.1");
    await once(gate.#server, "listening");
    return gate;
  }

  /** The URL that a handler fetches to wait. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  /** Resolves when the first handler has arrived. */
  get arrival(): Promise<void> {
    return this.#arrived.promise;
  }

  open(): void {
    this.#open = true;
    for (const response of this.#waiting.splice(0)) response.end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
