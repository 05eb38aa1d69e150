/** A PostgreSQL server that ends each connection as soon as it has accepted it, in the same packet. */
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { SqlLeaseStore } from "@leasehold/sql";
import { expect, test } from "vitest";

/** A message of PostgreSQL's protocol. */
function message(type: string, body: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length + 4);
  return Buffer.concat([Buffer.from(type), length, body]);
}

const AUTHENTICATED = message("R", Buffer.alloc(4));
const READY = message("Z", Buffer.from("I"));
const TERMINATED = message("E", Buffer.from("SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0"));

test("a connection that the server ends as it is made fails one request, and not the process", async () => {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => socket.end(Buffer.concat([AUTHENTICATED, READY, TERMINATED])));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const store = new SqlLeaseStore({ postgres: `postgres://u@127.0.0.1:${port}/d` });
  try {
    await expect(store.read("e")).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  } finally {
    await store.close();
    server.close();
  }
});
