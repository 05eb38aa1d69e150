import { credentials, makeClientConstructor, type Client, type ServiceError } from "@grpc/grpc-js";
import { serviceDefinition } from "../firestore-server/protocol.ts";

type Message = Record<string, unknown>;
type UnaryCall = (request: object, callback: (error: ServiceError | null, reply: Message) => void) => void;

/** Sends requests that Google's client does not send, or at times when it does not send them. */
export class RawFirestoreClient {
  readonly #database = "projects/demo-x/databases/(default)";
  readonly #client: Client;

  constructor(host: string) {
    this.#client = new (makeClientConstructor(serviceDefinition(), "Firestore"))(host, credentials.createInsecure());
  }

  /** Returns the full name of the document at `path`. */
  name(path: string): string {
    return `${this.#database}/documents/${path}`;
  }

  async call(method: string, request: object): Promise<Message> {
    return await new Promise((resolve, reject) => {
      const call = (this.#client as unknown as Record<string, UnaryCall>)[method]!;
      call.call(this.#client, { database: this.#database, ...request }, (error, reply) =>
        error === null ? resolve(reply) : reject(error),
      );
    });
  }

  async stream(method: string, request: object): Promise<readonly Message[]> {
    const call = (this.#client as unknown as Record<string, (request: object) => AsyncIterable<Message>>)[method]!;
    return await Array.fromAsync(call.call(this.#client, { database: this.#database, ...request }));
  }

  [Symbol.dispose](): void {
    this.#client.close();
  }
}
