import { readFile } from "node:fs/promises";
import { ConfigurationError, type LeaseStore } from "@leasehold/core";
import { checkName, sleep } from "@leasehold/core/provider";
import type { Command } from "commander";
import { EXIT, CommandError } from "./exit-codes.ts";
import { checkStoreUrl } from "./store-url/store-from-url.ts";
import type { ProcessEnvironment } from "./verb.ts";

/** The longest wait for a store to close its connections. */
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

/** Reports whether an option or the environment names a store. */
export function namesStore(command: Command, { env }: ProcessEnvironment): boolean {
  const { store, storeFile } = command.opts<StoreOptions>();
  return [store, storeFile, env["LEASEHOLD_STORE"]].some((given) => given !== undefined && given !== "");
}

/**
 * Opens the store that the command line or the environment names. Sends no request to it yet.
 * @throws as {@link storeUrl} does. {ConfigurationError} if the store's package is not installed, or refuses its options.
 */
export async function openStore(command: Command, environment: ProcessEnvironment): Promise<LeaseStore & AsyncDisposable> {
  return closedInTime(await environment.openStore(await storeUrl(command, environment)), environment);
}

/** Opens the store for a verb that only reads or gives orders. Unlike {@link openStore}, it creates nothing. */
export async function openUsedStore(command: Command, environment: ProcessEnvironment): Promise<LeaseStore & AsyncDisposable> {
  return closedInTime(await environment.openUsedStore(await storeUrl(command, environment)), environment);
}

function closedInTime(store: LeaseStore & AsyncDisposable, { clock }: ProcessEnvironment): LeaseStore & AsyncDisposable {
  const close = store[Symbol.asyncDispose].bind(store);
  // A close may hang. After `CLOSE_MS` the process ends anyway, and that closes the connections.
  return Object.assign(store, {
    [Symbol.asyncDispose]: async () => await Promise.race([close(), sleep(clock, CLOSE_MS)]),
  });
}

/**
 * Returns the URL of the store that the command line or the environment names. Checks it as far as that needs no package.
 * @throws {CommandError} if no store is named, or if both options are given. {ConfigurationError} for an invalid URL or file.
 */
export async function storeUrl(command: Command, { env }: ProcessEnvironment): Promise<string> {
  const { store, storeFile } = command.opts<StoreOptions>();
  if (store !== undefined && storeFile !== undefined) {
    throw new CommandError(EXIT.usage, "--store and --store-file both name a store; give one of them.");
  }
  if (store !== undefined) return checkStoreUrl(store, { isArgument: true });
  if (storeFile !== undefined) return checkStoreUrl(await fileContent("--store-file", storeFile));
  const { LEASEHOLD_STORE: fromEnvironment } = env;
  if (fromEnvironment) return checkStoreUrl(fromEnvironment);
  throw new CommandError(EXIT.usage, "no store is named; give --store URL, --store-file PATH or the variable LEASEHOLD_STORE.");
}

/** Returns the text of a file that an option names, without spaces at its ends. @throws {ConfigurationError} */
export async function fileContent(option: string, path: string): Promise<string> {
  try {
    return (await readFile(path, "utf8")).trim();
  } catch (cause) {
    const { code = "unknown" } = cause as NodeJS.ErrnoException;
    throw new ConfigurationError(`${option} ${path} cannot be read (${code}).`, { cause });
  }
}

/** Adds the option `--election`, which names one election. */
export function addElectionOption(command: Command): Command {
  return command.option("--election <name>", "the election (default: LEASEHOLD_ELECTION)");
}

/** Reports whether `--election` or the environment names an election. */
export function namesElection(command: Command, { env }: ProcessEnvironment): boolean {
  return command.opts<{ readonly election?: string }>().election !== undefined || Boolean(env["LEASEHOLD_ELECTION"]);
}

/** Returns the elections that the verb's arguments name, each once. Without arguments, returns the one of {@link electionOf}. */
export function electionsOf(command: Command, environment: ProcessEnvironment, names: readonly string[]): readonly string[] {
  const given = names.length === 0 ? [undefined] : names;
  return [...new Set(given.map((name) => electionOf(command, environment, name)))];
}

/**
 * Returns the election that the verb's argument, `--election` or the environment names.
 * @throws {CommandError} if none of these names one, or if two of them do. {ConfigurationError} for an invalid name.
 */
export function electionOf(command: Command, { env }: ProcessEnvironment, argument?: string): string {
  const { election: option } = command.opts<{ readonly election?: string }>();
  if (argument !== undefined && option !== undefined) {
    throw new CommandError(EXIT.usage, `two elections are named, '${argument}' and --election '${option}'; give one of them.`);
  }
  const election = argument ?? option ?? env["LEASEHOLD_ELECTION"] ?? "";
  if (election === "" && argument === undefined && option === undefined) {
    throw new CommandError(EXIT.usage, "no election is named; give --election NAME or the variable LEASEHOLD_ELECTION.");
  }
  checkName("election", election);
  return election;
}
