import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { VotingLeaseStore } from "@leasehold/voting";
import { freePort } from "../backends/free-port.ts";
import { startTcpFaultProxy } from "../faults/tcp-fault-proxy.ts";
import { makeTermGuarded, openTermGuarded } from "./term-guarded.ts";
import type { OpenStore, Seat, StoreSettings, TestStore } from "./test-store.ts";

const SECRET = "what servers of tests sign by";

/** Servers that elect one of themselves. Each candidate's process contains one of them. */
export const voting: TestStore = {
  title: "servers that elect one of themselves",
  leaseDurationMs: 3_000,

  missing: () => Promise.resolve(undefined),

  async start(candidates = 3) {
    const folder = await mkdtemp(join(tmpdir(), "leasehold-voting-"));
    const documents = join(folder, "documents.db");
    makeTermGuarded(documents);
    const common = { store: "voting", folder, documents } as const;
    const names = Array.from({ length: candidates }, (_, at) => String.fromCharCode("a".charCodeAt(0) + at));
    const seats = await seatsOf(names, common);
    const links = seats.flatMap((seat) => seat.links);
    return {
      settings: common,
      place: `${names.length} servers, in the workers themselves`,
      seats,
      pause: () => Promise.resolve(links.forEach((link) => void link.holdRequests())),
      resume: () => links.forEach((link) => link.heal()),
      [Symbol.asyncDispose]: async () => {
        await Promise.all(links.map((link) => link.stop()));
        await rm(folder, { recursive: true, force: true, maxRetries: 5 });
      },
    };
  },

  async open({ server, servers = "{}", folder = "", documents = "" }) {
    const { close, ...guarded } = openTermGuarded(documents);
    if (server === undefined) return { ...guarded, ...(await bystander(folder, close)) };
    const store = await openServer(server, servers, folder);
    return { store, ...guarded, close: async () => void (await Promise.all([close(), store.close()])) };
  },
};

async function openServer(server: string, servers: string, folder: string): Promise<VotingLeaseStore> {
  const addresses = JSON.parse(servers) as Record<string, string>;
  return await VotingLeaseStore.open({ server, servers: addresses, secret: SECRET, stateDirectory: join(folder, server) });
}

/** Returns the store of a process that is no server. It is alone in a cluster of its own, and only states its capabilities. */
async function bystander(folder: string, closeGuarded: () => Promise<unknown>): Promise<Pick<OpenStore, "store" | "close">> {
  const stateDirectory = await mkdtemp(join(folder, "bystander-"));
  const servers = { none: `http://127.0.0.1:${await freePort()}` };
  const store = await VotingLeaseStore.open({ server: "none", servers, secret: SECRET, stateDirectory });
  return { store, close: async () => void (await Promise.all([closeGuarded(), store.close()])) };
}

/**
 * Returns the seats. Each has a proxy in front of it, and one to each other server. So all traffic between two servers passes one
 * of either.
 */
async function seatsOf(names: readonly string[], common: StoreSettings): Promise<Seat[]> {
  const ways = await Promise.all(
    names.map(async (name) => {
      const port = await freePort();
      return { name, address: `http://127.0.0.1:${port}`, wayIn: await startTcpFaultProxy(port) };
    }),
  );
  return await Promise.all(
    ways.map(async ({ name, address, wayIn }) => {
      const others = ways.filter((other) => other.name !== name);
      const waysOut = await Promise.all(others.map((other) => startTcpFaultProxy(other.wayIn.port)));
      const outward = others.map((other, at) => [other.name, `http://${waysOut[at]!.host}`] as const);
      const addresses = new Map<string, string>([[name, address], ...outward]);
      // The servers are in the order of the list, which is the order of preference.
      const servers = Object.fromEntries(names.map((each) => [each, addresses.get(each)]));
      return { settings: { ...common, server: name, servers: JSON.stringify(servers) }, links: [wayIn, ...waysOut] };
    }),
  );
}
