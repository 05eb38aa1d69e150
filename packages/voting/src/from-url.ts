import { ConfigurationError } from "@leasehold/core";
import { disposable, type OpenedStore, type StoreSchemes, type StoreUrl, type StoreUrlContext } from "@leasehold/core/provider";
import type { VotingTls } from "./options.ts";
import { VotingLeaseStore } from "./voting-lease-store.ts";
import { VotingObserver } from "./voting-observer.ts";

/** The variable with the secret of the servers. An argument or a URL would not do, because others can read these. */
const SECRET = "LEASEHOLD_VOTING_SECRET";

/**
 * Opens the servers that vote by a URL such as `voting://HOST:7400,HOST:7400,HOST:7400`. The result is a {@link VotingObserver},
 * which reads and gives orders. With the parameters `server` and `state` it is a {@link VotingLeaseStore}, one of the servers.
 * `votings:` is for TLS: its parameters `ca`, `key` and `cert` name files.
 */
export const fromUrl: StoreSchemes = {
  voting: { parameters: ["server", "state", "listen"], check, open },
  votings: { parameters: ["server", "state", "listen", "ca", "key", "cert"], check, open },
};

function check({ scheme, authority, path, user, password, parameters: given }: StoreUrl): void {
  if (user !== undefined || password !== undefined) {
    throw new ConfigurationError(`a URL of ${scheme}: has no password: put the secret into ${SECRET}.`);
  }
  if (path !== "" || !serversOf(scheme, authority).every(({ address }) => /.:\d+$/.test(address))) {
    throw new ConfigurationError(
      `a URL of ${scheme}: names every server with its port, and no path: ${scheme}://HOST:7400,HOST:7400,HOST:7400.`,
    );
  }
  if (given.has("server") !== given.has("state")) {
    throw new ConfigurationError(
      `a URL of ${scheme}: with 'server', the name of this server, has 'state' as well, the directory of its votes.`,
    );
  }
}

async function open(url: StoreUrl, context: StoreUrlContext): Promise<OpenedStore> {
  const { scheme, authority, parameters: given } = url;
  const secret = context.env[SECRET];
  if (secret === undefined || secret === "") {
    throw new ConfigurationError(`${SECRET} is not set: it has the secret of the servers.`);
  }
  const servers = serversOf(scheme, authority);
  await context.readFile(url, "ca");
  const server = given.get("server");
  const stateDirectory = given.get("state");
  if (server === undefined || stateDirectory === undefined) {
    // The observer reads the file again once a minute.
    const options = { servers: servers.map(({ address }) => address), secret, ca: () => context.readFile(url, "ca") };
    const observer = new VotingObserver(options);
    return disposable(observer, () => observer.close());
  }
  const store = await VotingLeaseStore.open({
    server,
    servers: Object.fromEntries(servers.map(({ name, address }) => [name, address])),
    secret,
    stateDirectory,
    host: given.get("listen"),
    // The server reads the files again once a minute.
    tls: given.has("key") && given.has("cert") ? () => certificatesOf(url, context) : undefined,
  });
  return disposable(store, () => store.close());
}

/** Parses the list of servers. Each is `NAME=HOST:PORT`, or `HOST:PORT`, which is then also its name. */
function serversOf(scheme: string, authority: string): ReadonlyArray<{ readonly name: string; readonly address: string }> {
  const origin = scheme === "votings" ? "https" : "http";
  return authority.split(",").map((part) => {
    const [name, host] = part.includes("=")
      ? [part.slice(0, part.indexOf("=")), part.slice(part.indexOf("=") + 1)]
      : [part, part];
    return { name, address: `${origin}://${host}` };
  });
}

async function certificatesOf(url: StoreUrl, context: StoreUrlContext): Promise<VotingTls> {
  const [key, cert, ca] = await Promise.all(["key", "cert", "ca"].map((name) => context.readFile(url, name)));
  // The URL has both.
  return { key: key as string, cert: cert as string, ca };
}
