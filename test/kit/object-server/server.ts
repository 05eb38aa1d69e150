import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { answerGcs } from "./gcs-protocol.ts";
import type { ObjectReply, ObjectRequest } from "./messages.ts";
import { ObjectBucket } from "./object-bucket.ts";
import { answerS3 } from "./s3-protocol.ts";

export type Protocol = "s3" | "gcs";

export interface ObjectServerOptions {
  readonly protocol: Protocol;
  /** @defaultValue an empty one with the name `leases` and this machine's clock */
  readonly bucket?: ObjectBucket;
}

/** A running server. */
export interface ObjectServer extends AsyncDisposable {
  readonly url: string;
  readonly bucket: ObjectBucket;
  /** Called for each request; its reply replaces the service's own. */
  intercept: Intercept | undefined;
}

/** Answers a request in place of the service, or lets it pass. */
export type Intercept = (request: ObjectRequest) => ObjectReply | undefined | Promise<ObjectReply | undefined>;

/** The name of the bucket that a server has by default. */
export const BUCKET = "leases";

const ANSWERS = { s3: answerS3, gcs: answerGcs };

/**
 * Starts a server on 127.0.0.1 that speaks the protocol of S3 or of Google Cloud Storage, as far as leases need it. It keeps every
 * condition, unless its bucket is configured to be lax. It was written from the services' documentation, and shares no code with the
 * packages.
 */
export async function startObjectServer({
  protocol,
  bucket = new ObjectBucket(BUCKET),
}: ObjectServerOptions): Promise<ObjectServer> {
  let requests = 0;
  const serve = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const request = await received(incoming);
    requests += 1;
    const { status, headers, body } = (await object.intercept?.(request)) ?? ANSWERS[protocol](bucket, request, `R${requests}`);
    response.writeHead(status, { ...headers, "content-length": String(body.byteLength) });
    response.end(body);
  };
  // A client that gives up ends its own request.
  const server = createServer((incoming, response) => void serve(incoming, response).catch(() => response.destroy()));
  server.keepAliveTimeout = 3_600_000;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const object: ObjectServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bucket,
    intercept: undefined,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return object;
}

async function received(incoming: IncomingMessage): Promise<ObjectRequest> {
  const headers = Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]);
  const body = await buffer(incoming);
  return {
    method: incoming.method ?? "",
    target: incoming.url ?? "",
    headers: Object.fromEntries(headers) as Record<string, string>,
    body: new Uint8Array(body),
  };
}
