import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { Redis } from "ioredis";

/** The token that the front asks for. */
export const TOKEN = "the-token-of-the-test";

/**
 * Starts Upstash's REST interface before a server of Redis: one command in a POST, as a list of texts. Texts in the reply are in
 * base64 if the request asks for that. https://upstash.com/docs/redis/features/restapi (Request Body, HTTP Codes, Base64 Encoding)
 */
export async function startUpstashFront(redisPort: number): Promise<{ readonly port: number; stop(): Promise<void> }> {
  const redis = new Redis(redisPort, "127.0.0.1");
  const server = createServer((request, response) => {
    const answer = (status: number, body: object): void => void response.writeHead(status).end(JSON.stringify(body));
    if (request.headers.authorization !== `Bearer ${TOKEN}`)
      return answer(401, { error: "WRONGPASS invalid or missing auth token" });
    const encode = request.headers["upstash-encoding"] === "base64" ? base64 : (value: unknown): unknown => value;
    json(request)
      .then(async (command) => await redis.call(...(command as [string, ...string[]])))
      .then((result) => answer(200, { result: encode(result) }))
      .catch((error: unknown) => answer(400, { error: (error as Error).message }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    async stop() {
      redis.disconnect();
      server.close().closeAllConnections();
      await once(server, "close");
    },
  };
}

function base64(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(base64);
  return typeof value === "string" && value !== "OK" ? Buffer.from(value).toString("base64") : value;
}
