import { execFileSync } from "node:child_process";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { boundedServer, mostConnections } from "../src/http/bounded-server.ts";
import { closeServer } from "../src/http/http-server.ts";

/** Starts a server with a limit of connections. It never answers `/wait`. */
async function serving(most: number): Promise<{ readonly port: number; readonly waiting: ServerResponse[] }> {
  const waiting: ServerResponse[] = [];
  const listener = (request: { url?: string | undefined }, response: ServerResponse): void => {
    if (request.url === "/wait") waiting.push(response);
    else response.end("ok");
  };
  const server = boundedServer({}, listener, most);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => closeServer(server));
  return { port: (server.address() as AddressInfo).port, waiting };
}

async function connected(port: number, text = ""): Promise<Socket & { said: string }> {
  const socket = Object.assign(connect(port, "127.0.0.1"), { said: "" });
  socket.on("error", () => {}).on("data", (chunk) => (socket.said += String(chunk)));
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  socket.write(text);
  return socket;
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;

test("answers in a flood of idle connections, and closes the oldest of them", async () => {
  const { port } = await serving(4);
  const flood: Socket[] = [];
  for (let count = 0; count < 20; count += 1) flood.push(await connected(port));
  const prober = await connected(port, get("/"));
  while (!prober.said.endsWith("ok")) await delay(5);
  while (flood.filter((socket) => socket.destroyed || socket.readableEnded).length < 17) await delay(5);
  expect(flood.slice(-3).map((socket) => socket.destroyed || socket.readableEnded)).toEqual([false, false, false]);
});

test("closes no connection that waits for an answer, and refuses a new one instead", async () => {
  const { port, waiting } = await serving(2);
  const readers = [await connected(port, get("/wait")), await connected(port, get("/wait"))];
  while (waiting.length < 2) await delay(5);
  const refused = await connected(port, get("/"));
  await once(refused, "close");
  for (const response of waiting) response.end("late");
  while (!readers.every(({ said }) => said.endsWith("late"))) await delay(5);
  // These connections have their answers now.
  const next = await connected(port, get("/"));
  while (!next.said.endsWith("ok")) await delay(5);
});

test("a closed connection leaves its place to the next one", async () => {
  const { port } = await serving(2);
  for (let count = 0; count < 4; count += 1) {
    const client = await connected(port, get("/").replace("\r\n", "\r\nConnection: close\r\n"));
    await once(client, "close");
    expect(client.said).toMatch(/ok$/);
  }
});

test.each([
  ["Limit  Soft Limit  Hard Limit  Units\nMax open files            1024                 4096                 files", 256],
  ["Max open files            100                 4096                 files", 25],
  ["Max open files            8                   8                    files", 4],
  ["Max open files            unlimited           unlimited            files", 256],
  ["", 256],
])("leaves three quarters of the file descriptors: %#", (limits, most) => {
  expect(mostConnections(() => limits)).toBe(most);
});

test("has a limit of connections even if the system shows none", () => {
  const unknown = (): never => {
    throw new Error("ENOENT");
  };
  expect(mostConnections(unknown)).toBe(256);
});

test("the server's module does not load Node's fetch, which costs memory in a process that sends no request", () => {
  const module = JSON.stringify(new URL("../src/http/bounded-server.ts", import.meta.url).href);
  const program = `await import(${module}); console.log(process.moduleLoadList.filter((name) => name.includes("undici")).length)`;
  const output = execFileSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf8" });
  expect(output).toBe("0\n");
});
