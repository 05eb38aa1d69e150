import { readFile } from "node:fs/promises";
import { ConfigurationError, type LeaseStore } from "@leasehold/core";
import { sleep } from "@leasehold/core/provider";
import type { Command } from "commander";
import { EXIT } from "./exit-codes.ts";
import { Failure } from "./failure.ts";
import { checkStoreUrl } from "./store-url/store-from-url.ts";
import type { Surroundings } from "./surroundings.ts";

/** How long it waits for a store to close its connections politely. */
const CLOSE_MS = 250;

interface StoreOptions {
  readonly store?: string;
  readonly storeFile?: string;
}

/** Adds the options that name a store. */
export function addStoreOptions(command: Command): Command {
  return command
    .option("--store <url>", "the store, without a password (default: LEASEHOLD_STORE)")
    .option("--store-file <path>", "a file that holds the store's URL, which may have a password");
}

/** Reports whether a store is named at all. */
export function namesStore(command: Command, { env }: Surroundings): boolean {
  const { store, storeFile } = command.opts<StoreOptions>();
  return [store, storeFile, env["LEASEHOLD_STORE"]].some((given) => given !== undefined && given !== "");
}

/**
 * Opens the store that the command line or the environment names. Nothing has been sent yet. Throws as {@link storeUrl}, and
 * @throws {ConfigurationError} for a package that is not installed, and for what that refuses.
 */
export async function openStore(command: Command, surroundings: Surroundings): Promise<LeaseStore & AsyncDisposable> {
  return closedInTime(await surroundings.openStore(await storeUrl(command, surroundings)), surroundings);
}

/** Opens it for a verb that only reads, or steers what is there: as {@link openStore}, but nothing is made. */
export async function openUsedStore(command: Command, surroundings: Surroundings): Promise<LeaseStore & AsyncDisposable> {
  return closedInTime(await surroundings.openUsedStore(await storeUrl(command, surroundings)), surroundings);
}

function closedInTime(store: LeaseStore & AsyncDisposable, { clock }: Surroundings): LeaseStore & AsyncDisposable {
  const close = store[Symbol.asyncDispose].bind(store);
  // The process ends then, and its connections with it.
  return Object.assign(store, {
    [Symbol.asyncDispose]: async () => await Promise.race([close(), sleep(clock, CLOSE_MS)]),
  });
}

/**
 * Returns the URL of the store that the command line or the environment names, checked as far as it can be without its package.
 * @throws {Failure} if none is named, or two are. {ConfigurationError} for one that cannot work.
 */
export async function storeUrl(command: Command, { env }: Surroundings): Promise<string> {
  const { store, storeFile } = command.opts<StoreOptions>();
  if (store !== undefined && storeFile !== undefined) {
    throw new Failure(EXIT.usage, "--store and --store-file both name a store; give one of them.");
  }
  if (store !== undefined) return checkStoreUrl(store, { isArgument: true });
  if (storeFile !== undefined) return checkStoreUrl(await contentOf(storeFile));
  const { LEASEHOLD_STORE: fromEnvironment } = env;
  if (fromEnvironment) return checkStoreUrl(fromEnvironment);
  throw new Failure(EXIT.usage, "no store is named; give --store URL, --store-file PATH or the variable LEASEHOLD_STORE.");
}

async function contentOf(path: string): Promise<string> {
  try {
    return (await readFile(path, "utf8")).trim();
  } catch (cause) {
    const { code = "unknown" } = cause as NodeJS.ErrnoException;
    throw new ConfigurationError(`--store-file ${path} cannot be read (${code}).`, { cause });
  }
}
