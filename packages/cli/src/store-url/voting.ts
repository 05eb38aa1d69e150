import { readFile } from "node:fs/promises";
import { ConfigurationError } from "@leasehold/core";
import { loadProvider } from "./provider.ts";
import { disposable, type StoreKind } from "./store-kind.ts";

type VotingModule = typeof import("@leasehold/voting");
type VotingTls = import("@leasehold/voting").VotingTls;

/** The variable with the secret of the servers. An argument or a URL would not do, because others can read these. */
const SECRET = "LEASEHOLD_VOTING_SECRET";
/** With these parameters this process is one of the servers. Without them it only reads and gives orders. */
const OF_SERVERS = ["server", "state", "listen"];

/** Voting servers, which elect one of themselves. */
export const voting: StoreKind = kindOf("voting", "voting://HOST:7400,HOST:7400,HOST:7400", OF_SERVERS);

/** Voting servers over TLS. */
export const votings: StoreKind = kindOf("votings", "votings://HOST:7400,HOST:7400,HOST:7400?ca=/etc/leasehold/ca.pem", [
  ...OF_SERVERS,
  ...["ca", "key", "cert"],
]);

function kindOf(scheme: "voting" | "votings", example: string, parameters: readonly string[]): StoreKind {
  const origin = scheme === "votings" ? "https" : "http";
  return {
    example,
    parameters,
    check({ authority, path, user, password, parameters: given }) {
      if (user !== undefined || password !== undefined) {
        throw new ConfigurationError(`a URL of ${scheme}: has no password: put the secret into ${SECRET}.`);
      }
      if (path !== "" || !serversOf(authority, origin).every(({ address }) => /.:\d+$/.test(address))) {
        throw new ConfigurationError(`a URL of ${scheme}: names every server with its port, and no path: ${example}.`);
      }
      if (given.has("server") !== given.has("state")) {
        throw new ConfigurationError(
          `a URL of ${scheme}: with 'server', the name of this server, has 'state' as well, the directory of its votes.`,
        );
      }
    },
    async open({ authority, parameters: given }, { env, ...place }) {
      const secret = env[SECRET];
      if (secret === undefined || secret === "") {
        throw new ConfigurationError(`${SECRET} is not set: it has the secret of the servers.`);
      }
      const servers = serversOf(authority, origin);
      const ca = await contentOf("ca", given);
      const { module } = await loadProvider<VotingModule>("@leasehold/voting", { env, ...place });
      const server = given.get("server");
      const stateDirectory = given.get("state");
      if (server === undefined || stateDirectory === undefined) {
        const store = new module.VotingObserver({ servers: servers.map(({ address }) => address), secret, ca });
        return disposable(store, () => store.close());
      }
      const store = await module.VotingLeaseStore.open({
        server,
        servers: Object.fromEntries(servers.map(({ name, address }) => [name, address])),
        secret,
        stateDirectory,
        host: given.get("listen"),
        tls: given.has("key") && given.has("cert") ? () => tlsOf(given) : undefined,
      });
      return disposable(store, () => store.close());
    },
  };
}

/** Parses the list of servers. Each is `NAME=HOST:PORT`, or `HOST:PORT`, which is then also its name. */
function serversOf(authority: string, origin: string): ReadonlyArray<{ readonly name: string; readonly address: string }> {
  return authority.split(",").map((part) => {
    const [name, host] = part.includes("=")
      ? [part.slice(0, part.indexOf("=")), part.slice(part.indexOf("=") + 1)]
      : [part, part];
    return { name, address: `${origin}://${host}` };
  });
}

/** Reads the files of a server's certificates. The server does so again once a minute. */
async function tlsOf(given: ReadonlyMap<string, string>): Promise<VotingTls> {
  const [key, cert, ca] = await Promise.all(["key", "cert", "ca"].map((name) => contentOf(name, given)));
  return { key: key ?? "", cert: cert ?? "", ca };
}

async function contentOf(name: string, given: ReadonlyMap<string, string>): Promise<Buffer | undefined> {
  const path = given.get(name);
  if (path === undefined) return undefined;
  try {
    return await readFile(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new ConfigurationError(`${name} names the file ${path}, which cannot be read (${code}).`);
  }
}
