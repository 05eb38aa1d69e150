import { readFileSync } from "node:fs";
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

/** Has tests and packages import the oldest versions. */
export const oldestPeers: Plugin = {
  name: "oldest-peers",
  enforce: "pre",
  resolveId(id) {
    const name = Object.keys(OLDEST).find((peer) => id === peer || id.startsWith(`${peer}/`));
    const alias = name && OLDEST[name]?.alias;
    return alias ? requireHere.resolve(alias + id.slice(name.length)) : undefined;
  },
};
