import { ConfigurationError, MemoryLeaseStore, type LeaseStore } from "@leasehold/core";
import { azureBlob } from "./azure-blob.ts";
import { dynamodb } from "./dynamodb.ts";
import { etcd, etcds } from "./etcd.ts";
import { firestore } from "./firestore.ts";
import { quorumOf } from "./quorum.ts";
import { mysql, postgres, sqlite } from "./sql.ts";
import { disposable, type StoreKind, type StorePlace } from "./store-kind.ts";
import { voting, votings } from "./voting.ts";
import { parseStoreUrl, passwordsIn, schemeOf, type StoreUrl } from "./store-url.ts";

/** The schemes of store URLs. */
const KINDS: Readonly<Record<string, StoreKind>> = {
  "azure-blob": azureBlob,
  dynamodb,
  firestore,
  etcd,
  etcds,
  sqlite,
  postgres,
  postgresql: postgres,
  mysql,
  voting,
  votings,
  quorum: quorumOf((text, place) => openStoreUrl(checkStoreUrl(text), place)),
};

/** @internal An example URL of each store, for the help. */
export const STORE_EXAMPLES: readonly string[] = [...new Set(Object.values(KINDS).map(({ example }) => example))];

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
export async function openStoreUrl(text: string, place: StorePlace): Promise<LeaseStore & AsyncDisposable> {
  const { kind, url } = read(text);
  return await kind.open(url, place);
}

/** @internal Opens a store that candidates have used already. Creates nothing. @throws {Failure} if there is no such store. */
export async function usedStoreFromUrl(text: string): Promise<LeaseStore & AsyncDisposable> {
  const { kind, url } = read(text);
  await kind.checkUsed?.(url, here());
  return await storeFromUrl(text);
}

/** @internal Returns the commands or statements that create the store of a URL, for people. */
export function creationOf(text: string, store: LeaseStore): readonly string[] | undefined {
  const { kind, url } = read(text);
  return kind.creation?.(url, store);
}

/** @internal Returns warnings about a store that need no request, such as a SQLite file on a network drive. */
export async function localWarningsOf(text: string): Promise<readonly string[]> {
  const { kind, url } = read(text);
  return (await kind.localWarnings?.(url, here())) ?? [];
}

/** Returns the environment and the working directory of this process. */
function here(): StorePlace {
  return { env: process.env, workingDirectory: process.cwd() };
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
  const { url } = read(text);
  if (isArgument && passwordsIn(url).length > 0) {
    throw new ConfigurationError(
      "the store's URL has a password, and arguments can be read by everybody on this machine; put the URL into LEASEHOLD_STORE, or into a file for --store-file.",
    );
  }
  return text;
}

function read(text: string): { readonly kind: StoreKind; readonly url: StoreUrl } {
  const scheme = schemeOf(text);
  const kind = scheme !== undefined && Object.hasOwn(KINDS, scheme) ? KINDS[scheme] : undefined;
  if (kind === undefined) {
    const found = scheme === undefined ? "the store's URL has no scheme" : `no store has the scheme '${scheme}:'`;
    throw new ConfigurationError(`${found}; there are ${Object.keys(KINDS).join(", ")}.`);
  }
  const url = parseStoreUrl(text);
  const unknown = [...url.parameters.keys()].find((name) => kind.parameters?.includes(name) === false);
  if (unknown !== undefined) {
    const known = kind.parameters?.length ? `there are ${kind.parameters.join(", ")}` : "it has none";
    throw new ConfigurationError(`a URL of ${scheme}: has no parameter '${unknown}'; ${known}.`);
  }
  kind.check(url);
  return { kind, url };
}
