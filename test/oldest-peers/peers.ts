import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Plugin } from "vite";

/** Finds what the tests have installed. */
export const requireHere: NodeJS.Require = createRequire(import.meta.url);

const PREFIX = "oldest-";
const { devDependencies } = JSON.parse(readFileSync(join(import.meta.dirname, "../package.json"), "utf8")) as {
  readonly devDependencies: Readonly<Record<string, string>>;
};

/** The oldest version of each SDK and driver that a store takes, and under which name it is installed here. */
export const OLDEST: Readonly<Record<string, { readonly version: string; readonly alias: string }>> = Object.fromEntries(
  Object.entries(devDependencies).flatMap(([alias, wanted]) => {
    const [, name, version] = /^npm:(.+)@(.+)$/.exec(wanted) ?? [];
    return alias.startsWith(PREFIX) && name && version ? [[name, { version, alias }]] : [];
  }),
);

/**
 * No suite imports these. The document client belongs to the user's transactions, and has the version of the client. Azure's package
 * only issues tokens, and no emulator asks for tokens. Only a URL of Kubernetes reads YAML.
 */
const NOT_RUN = ["@aws-sdk/lib-dynamodb", "@azure/identity", "yaml"];
const PACKAGES = join(import.meta.dirname, "../../packages");

/** The peers of each store that has some, with their ranges, by the folder of the store. */
export const PEERS: ReadonlyMap<string, ReadonlyArray<readonly [peer: string, range: string]>> = new Map(
  readdirSync(PACKAGES)
    .filter((folder) => existsSync(join(PACKAGES, folder, "src/from-url.ts")))
    .map((folder) => {
      const { peerDependencies } = JSON.parse(readFileSync(join(PACKAGES, folder, "package.json"), "utf8")) as {
        readonly peerDependencies: Readonly<Record<string, string>>;
      };
      const peers = Object.entries(peerDependencies);
      return [folder, peers.filter(([peer]) => !peer.startsWith("@leasehold/") && !NOT_RUN.includes(peer))] as const;
    })
    .filter(([, peers]) => peers.length > 0),
);

/** Has tests and packages import other versions of some packages. @param resolve returns the file of a module of one of them. */
function importing(packages: readonly string[], resolve: (id: string, name: string) => string): Plugin {
  return {
    name: "other-versions",
    enforce: "pre",
    resolveId(id) {
      const name = packages.find((one) => id === one || id.startsWith(`${one}/`));
      return name === undefined ? undefined : resolve(id, name);
    },
  };
}

export const oldestPeers: Plugin = importing(Object.keys(OLDEST), (id, name) =>
  requireHere.resolve(OLDEST[name]?.alias + id.slice(name.length)),
);

/** Has tests and packages import what is installed in a folder of its own. */
export function installedIn(folder: string): Plugin {
  const require = createRequire(join(folder, "package.json"));
  const { dependencies } = require("./package.json") as { readonly dependencies: Readonly<Record<string, string>> };
  return importing(Object.keys(dependencies), (id) => require.resolve(id));
}
