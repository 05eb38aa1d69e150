import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isLeaseholdError } from "@leasehold/core";
import { freePort } from "@leasehold/test-kit/backends/free-port";
import { VotingLeaseStore, type VotingLeaseStoreOptions } from "@leasehold/voting";
import { untilSaid, type PageLines } from "./page-lines.ts";

/** In this time after the expected messages no other message may come. */
const QUIET_MS = 2_000;

/** Options of one server. Those that are left out are correct. */
type Wrong = Partial<VotingLeaseStoreOptions> & Pick<VotingLeaseStoreOptions, "server">;

/** Three servers of this machine: their addresses, and a folder with a directory for each. */
interface Place {
  readonly servers: Readonly<Record<"a" | "b" | "c", string>>;
  readonly folder: string;
}

/** The setup mistakes of new users: the servers that they start, one after the other. */
const MISTAKES: Readonly<Record<string, (place: Place) => readonly Wrong[]>> = {
  "two have different secrets": () => [{ server: "a" }, { server: "b", secret: "another secret of servers" }],
  "two addresses are exchanged": ({ servers: { a, b, c } }) => [
    { server: "b" },
    { server: "c" },
    { server: "a", servers: { a, b: c, c: b } },
  ],
  "one list lacks a server": ({ servers: { a, b } }) => [{ server: "b" }, { server: "a", servers: { a, b } }],
  "two processes of one machine are the same server": ({ folder }) => [
    { server: "a" },
    { server: "a", stateDirectory: join(folder, "copy") },
  ],
  "two machines are the same server": ({ folder }) => [
    { server: "a" },
    { server: "a", host: "127.0.0.2", stateDirectory: join(folder, "copy") },
  ],
  "two have one stateDirectory": ({ folder }) => [{ server: "a" }, { server: "b", stateDirectory: join(folder, "a") }],
  "nobody else can reach it": () => [{ server: "a", servers: { a: "http://10.0.0.1:7400", b: "http://10.0.0.2:7400" } }],
  "its name is not in the list": () => [{ server: "server-a" }],
  "the others are not started": () => [{ server: "a" }],
};

/** Makes each mistake, and returns the messages of `open` and of process warnings. */
export async function votingMistakes(expected: PageLines): Promise<readonly string[]> {
  const told: string[] = [];
  // Make one after the other, because the warnings of a process belong to all its servers.
  for (const [mistake, make] of Object.entries(MISTAKES)) told.push(await tell(mistake, make, expected(mistake)));
  return told;
}

async function tell(
  mistake: string,
  make: (place: Place) => readonly Wrong[],
  expected: readonly string[] | undefined,
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "leasehold-voting-mistakes-"));
  const ports = [await freePort(), await freePort(), await freePort()];
  const [a, b, c] = ports.map((port) => `http://127.0.0.1:${port}`) as [string, string, string];
  const said = new Set<string>();
  const hear = ({ name, message }: Error): void => {
    // Other tests of this process cause warnings of other stores.
    if (name === "LeaseholdWarning" && message.startsWith("Voting server")) said.add(message);
  };
  const lines = (): string[] => [...said].map((message) => `    ${named(message, ports, folder)}`).toSorted();
  process.on("warning", hear);
  const stores: VotingLeaseStore[] = [];
  try {
    const servers = { a, b, c };
    for (const wrong of make({ servers, folder })) {
      const options = { servers, secret: "a secret of servers", stateDirectory: join(folder, wrong.server), ...wrong };
      stores.push(await VotingLeaseStore.open(options));
    }
    await untilSaid(expected, lines, QUIET_MS);
    return [`${mistake}: open resolves, and warnings say`, ...lines()].join("\n");
  } catch (error) {
    if (!isLeaseholdError(error)) throw error;
    return `${mistake}: open rejects with ${error.code}\n    ${named(error.message, ports, folder)}`;
  } finally {
    process.off("warning", hear);
    for (const store of stores) await store.close();
    await rm(folder, { recursive: true });
  }
}

/** Replaces the ports and the folder by those that a user might have. */
function named(message: string, ports: readonly number[], folder: string): string {
  const withPorts = ports.reduce((text, port, at) => text.replaceAll(`:${port}`, `:${7_401 + at}`), message);
  return withPorts.replaceAll(folder, "/var/lib/votes");
}
