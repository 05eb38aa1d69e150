import { readFile } from "node:fs/promises";
import { ConfigurationError, MemoryLeaseStore, type LeaseStore } from "@leasehold/core";
import { disposable, type OpenedStore, type StoreScheme, type StoreUrl, type StoreUrlContext } from "@leasehold/core/provider";
import { CommandError, EXIT } from "../exit-codes.ts";
import { oneLine } from "../text.ts";
import { loadScheme } from "./provider.ts";
import { parseStoreUrl, passwordsIn, schemeOf } from "./store-url.ts";
import { STORES, type StorePackage } from "./stores.ts";

/** The parts of the process that a store of a URL needs. */
interface StorePlace {
  readonly env: StoreUrlContext["env"];
  /** The folder for packages that are not installed beside the command. */
  readonly workingDirectory: string;
}

/** @internal An example URL of each store, for the help. */
export const STORE_EXAMPLES: readonly string[] = [...new Set(STORES.flatMap(({ schemes }) => Object.values(schemes)))];

/**
 * Returns the store that a URL names, such as `sqlite:///var/lib/app/app.db` or `dynamodb://TABLE?region=eu-west-1`. The README
 * lists all URLs. `memory:` is a new store in this process alone, for tests. No request is sent yet, so only
 * `store.check({ election })` finds a mistyped name. Credentials come from each SDK's own default chain.
 *
 * The store's package must be installed beside this one, or in the working directory. Dispose of the store to close its
 * connections.
 * @throws {ConfigurationError} for an invalid URL, or a package that is not installed. The message shows no password.
 */
export async function storeFromUrl(url: string): Promise<LeaseStore & AsyncDisposable> {
  if (url === "memory:") return disposable(new MemoryLeaseStore(), () => {});
  return await openStoreUrl(url, here());
}

/** @internal Opens the store that a URL names, with a given environment and working directory. */
export async function openStoreUrl(text: string, place: StorePlace): Promise<OpenedStore> {
  const { scheme, url } = await read(text, place);
  const openStore = async (member: string): Promise<OpenedStore> => await openStoreUrl(checkStoreUrl(member), place);
  return await scheme.open(url, { env: place.env, readFile: contentOf, openStore });
}

/** @internal Opens a store that candidates have used already. Creates nothing. @throws {CommandError} if there is no such store. */
export async function usedStoreFromUrl(text: string): Promise<OpenedStore> {
  const { scheme, url } = await read(text, here());
  const { subject, state } = scheme.usage?.(url) ?? { subject: "", state: "used" };
  if (state === "missing") {
    const message = `there is no ${subject}; is that its path? run, serve and migrate make it.`;
    throw new CommandError(EXIT.configuration, message);
  }
  if (state === "unused") throw new CommandError(EXIT.nobodyLeads, `nobody has ever led with the ${subject}; is that its path?`);
  return await storeFromUrl(text);
}

/** @internal Returns the commands or statements that create the store of a URL, for people: one line each. */
export async function creationOf(text: string, store: LeaseStore): Promise<readonly string[]> {
  const { scheme, url } = await read(text, here());
  return (scheme.creation?.(url, store) ?? []).map(oneLine);
}

/** @internal Returns warnings about a store that need no request, such as a SQLite file on a network drive. */
export async function localWarningsOf(text: string): Promise<readonly string[]> {
  const { scheme, url } = await read(text, here());
  return scheme.localWarnings?.(url) ?? [];
}

/** Returns the environment and the working directory of this process. */
function here(): StorePlace {
  return { env: process.env, workingDirectory: presentFolder() };
}

function presentFolder(): string {
  try {
    return process.cwd();
  } catch {
    // The folder was deleted. Packages may still be beside the command.
    return "/";
  }
}

/**
 * Checks a URL as far as that needs no package of a store, and returns the URL.
 * @throws {ConfigurationError} for an invalid URL, or an argument with a password, which every user of the machine could read.
 */
export function checkStoreUrl(text: string, { isArgument = false }: { readonly isArgument?: boolean } = {}): string {
  if (text.startsWith("memory:")) {
    throw new ConfigurationError(
      "memory: lives in one process, and is for programs; sqlite:///tmp/leasehold.db is shared on one host.",
    );
  }
  packageOf(text);
  const url = parseStoreUrl(text);
  if (isArgument && passwordsIn(url).length > 0) {
    throw new ConfigurationError(
      "the store's URL has a password, and arguments can be read by everybody on this machine; put the URL into LEASEHOLD_STORE, or into a file for --store-file.",
    );
  }
  return text;
}

/** Returns the package of a URL's store. @throws {ConfigurationError} if no store has the URL's scheme. */
function packageOf(text: string): StorePackage {
  const scheme = schemeOf(text);
  const found = STORES.find(({ schemes }) => scheme !== undefined && Object.hasOwn(schemes, scheme));
  if (found !== undefined) return found;
  const lack = scheme === undefined ? "the store's URL has no scheme" : `no store has the scheme '${scheme}:'`;
  throw new ConfigurationError(`${lack}; there are ${STORES.flatMap(({ schemes }) => Object.keys(schemes)).join(", ")}.`);
}

/** Loads the package of a URL's store, which checks the URL. */
async function read(
  text: string,
  { workingDirectory }: StorePlace,
): Promise<{ readonly scheme: StoreScheme; readonly url: StoreUrl }> {
  const owner = packageOf(text);
  const url = parseStoreUrl(text);
  const scheme = await loadScheme(owner, url, workingDirectory);
  const { parameters } = scheme;
  const unknown = [...url.parameters.keys()].find((name) => parameters?.includes(name) === false);
  if (unknown !== undefined) {
    const known = parameters?.length ? `there are ${parameters.join(", ")}` : "it has none";
    throw new ConfigurationError(`a URL of ${url.scheme}: has no parameter '${unknown}'; ${known}.`);
  }
  scheme.check(url);
  return { scheme, url };
}

async function contentOf({ parameters }: StoreUrl, parameter: string): Promise<string | undefined> {
  const path = parameters.get(parameter);
  if (path === undefined) return undefined;
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new ConfigurationError(`${parameter} names the file ${path}, which cannot be read (${code}).`);
  }
}
