/**
 * A program that leaves requests in every state that a fault can cause, and then stops the proxy. It prints how each of them
 * ended. Nothing in it ends the process: it ends only if the proxy has left nothing open.
 */
import { once } from "node:events";
import { Agent, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { startFaultProxy } from "../faults/fault-proxy.ts";
import type { Fault } from "../faults/fault.ts";

const service = createServer((incoming, response) => {
  // On one path the service itself never answers.
  if (incoming.url !== "/silent") response.end("served");
}).listen(0, "127.0.0.1");
await once(service, "listening");
const proxy = await startFaultProxy(`http://127.0.0.1:${(service.address() as AddressInfo).port}`);

const faults: Readonly<Record<string, Fault>> = {
  "/lost": { kind: "black-hole", side: "request" },
  "/unanswered": { kind: "black-hole", side: "reply" },
  "/delayed": { kind: "delay", requestMs: 3_600_000 },
  "/answered-late": { kind: "delay", replyMs: 3_600_000 },
  "/held": { kind: "hold", until: new Promise(() => {}) },
};
proxy.rule = ({ path }) => faults[path];

// Connections that are kept alive, so they are still open when no request is under way.
const agent = new Agent({ keepAlive: true });
const paths = ["/plain", "/silent", ...Object.keys(faults)];
const endings = Promise.all(paths.map(async (path) => [path, await ending(path)] as const));
for (const path of paths) await proxy.waitFor((received) => received.path === path);
for (const path of ["/plain", "/unanswered", "/answered-late"]) {
  await proxy.waitFor((received) => received.path === path && received.deliveries[0]?.status === 200);
}
await proxy.waitFor(({ path, deliveries }) => path === "/silent" && deliveries.length === 1);

await Promise.all([proxy.stop(), proxy.stop()]);
process.stdout.write(`${JSON.stringify(Object.fromEntries(await endings))}\n`);
service.close();

/** Returns the body of the reply, or the message of the error. */
async function ending(path: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  request(`${proxy.url}${path}`, { agent }, (reply) => reply.setEncoding("utf8").once("data", resolve))
    .on("error", ({ message }) => resolve(message))
    .end();
  return await promise;
}
