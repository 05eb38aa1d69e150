import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ConfigurationError } from "@leasehold/core";
import manifest from "../../package.json" with { type: "json" };
import type { StorePlace } from "./store-kind.ts";

/** The loaded package of a store. */
export interface Provider<Module> {
  readonly module: Module;
  /** Loads the SDK that the package itself would load by that name. */
  readonly sdk: (name: string) => Promise<unknown>;
}

/**
 * Loads the package of a store from the place of the command's own installation, or else from the working directory. `others`
 * are packages that must be installed beside it, because it does not bring them along.
 * @throws {ConfigurationError} that says how to install a missing package.
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

/** Returns the file that a module at `place` would load for a package. Undefined if the package is not installed there. */
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

/** Returns the error for a missing package. Its `npx` line leaves out the packages that come with the command. */
function missing(name: string, packages: readonly string[]): ConfigurationError {
  const line = ["leasehold", ...packages.filter((one) => !Object.hasOwn(manifest.dependencies, one))]
    .map((one) => `-p ${one}`)
    .join(" ");
  return new ConfigurationError(`the package ${name} is not installed. Install it, or run: npx ${line} leasehold …`);
}
