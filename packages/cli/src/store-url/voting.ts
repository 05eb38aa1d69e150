import { readFile } from "node:fs/promises";
import { ConfigurationError } from "@leasehold/core";
import { loadProvider } from "./provider.ts";
import { disposable, type StoreKind } from "./store-kind.ts";

type VotingModule = typeof import("@leasehold/voting");

/** Where the secret of the servers is: arguments and URLs can be read by others. */
const SECRET = "LEASEHOLD_VOTING_SECRET";

/** Servers that elect one of themselves. */
export const voting: StoreKind = kindOf("voting", "voting://HOST:7400,HOST:7400,HOST:7400", []);

/** The same by TLS. */
export const votings: StoreKind = kindOf("votings", "votings://HOST:7400,HOST:7400,HOST:7400?ca=/etc/leasehold/ca.pem", ["ca"]);

function kindOf(scheme: "voting" | "votings", example: string, parameters: readonly string[]): StoreKind {
  return {
    example,
    parameters,
    check({ authority, path, user, password }) {
      if (user !== undefined || password !== undefined) {
        throw new ConfigurationError(`a URL of ${scheme}: has no password: put the secret into ${SECRET}.`);
      }
      if (path === "" && authority.split(",").every((host) => /.:\d+$/.test(host))) return;
      throw new ConfigurationError(`a URL of ${scheme}: names every server with its port, and no path: ${example}.`);
    },
    async open({ authority, parameters: given }, { env, ...place }) {
      const secret = env[SECRET];
      if (secret === undefined || secret === "") {
        throw new ConfigurationError(`${SECRET} is not set: it has the secret of the servers.`);
      }
      const origin = scheme === "votings" ? "https" : "http";
      const servers = authority.split(",").map((host) => `${origin}://${host}`);
      const ca = given.get("ca");
      const { module } = await loadProvider<VotingModule>("@leasehold/voting", { env, ...place });
      const store = new module.VotingObserver({ servers, secret, ca: ca === undefined ? undefined : await contentOf(ca) });
      return disposable(store, () => store.close());
    },
  };
}

async function contentOf(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new ConfigurationError(`ca names the file ${path}, which cannot be read (${code}).`);
  }
}
