import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ConfigurationError } from "@leasehold/core";
import manifest from "../../package.json" with { type: "json" };
import type { StorePlace } from "./store-kind.ts";

/** A package of a store, as it was found. */
export interface Provider<Module> {
  readonly module: Module;
  /** Loads what the package itself would load by that name: its SDK. */
  readonly sdk: (name: string) => Promise<unknown>;
}

/**
 * Loads the package of a store from where the command is installed or, else, from the working directory. `others` are what
 * has to be installed beside it and does not come by itself.
 * @throws {ConfigurationError} that says how to get what is missing.
 */
export async function loadProvider<Module>(
  name: string,
  { workingDirectory }: StorePlace,
  others: readonly string[] = [],
): Promise<Provider<Module>> {
  const places = [import.meta.filename, join(workingDirectory, "leasehold")];
  const paths = places.map((place) => resolvedFrom(place, name)).filter((found) => found !== undefined);
  const lackedBy = (found: string): string | undefined => others.find((other) => resolvedFrom(found, other) === undefined);
  const path = paths.find((found) => lackedBy(found) === undefined);
  if (path === undefined) throw missing(paths[0] === undefined ? name : (lackedBy(paths[0]) ?? name), [name, ...others]);
  return {
    module: (await load(path)) as Module,
    sdk: async (sdkName) => {
      const sdkPath = resolvedFrom(path, sdkName);
      if (sdkPath === undefined) throw missing(sdkName, [name, sdkName]);
      return await load(sdkPath);
    },
  };
}

/** Returns the file that a module at `place` would get for a package, or undefined where it is not installed there. */
function resolvedFrom(place: string, name: string): string | undefined {
  try {
    return createRequire(place).resolve(name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "MODULE_NOT_FOUND") return undefined;
    throw error;
  }
}

async function load(path: string): Promise<unknown> {
  return (await import(pathToFileURL(path).href)) as unknown;
}

/** What comes with the command need not be named. */
function missing(name: string, packages: readonly string[]): ConfigurationError {
  const line = ["leasehold", ...packages.filter((one) => !Object.hasOwn(manifest.dependencies, one))]
    .map((one) => `-p ${one}`)
    .join(" ");
  return new ConfigurationError(`the package ${name} is not installed. Install it, or run: npx ${line} leasehold …`);
}
