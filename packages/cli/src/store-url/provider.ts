import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ConfigurationError } from "@leasehold/core";
import type { StoreScheme, StoreSchemes, StoreUrl } from "@leasehold/core/provider";
import manifest from "../../package.json" with { type: "json" };
import type { StorePackage } from "./stores.ts";

/**
 * Loads the package of a store, and returns its scheme for a URL. Looks beside the command, and then in the working directory.
 * The packages that the URL needs must be installed beside it, because it does not bring them along.
 * @throws {ConfigurationError} that says how to install a missing package.
 */
export async function loadScheme({ name, beside }: StorePackage, url: StoreUrl, workingDirectory: string): Promise<StoreScheme> {
  const places = [import.meta.filename, join(workingDirectory, "leasehold")];
  const paths = new Set(places.map((place) => resolvedFrom(place, name)).filter((found) => found !== undefined));
  let firstLack: ConfigurationError | undefined;
  for (const path of paths) {
    const scheme = schemeOf(name, url, (await load(path, name)) as { readonly fromUrl?: StoreSchemes });
    const others = scheme.packages?.(url) ?? [];
    const lack = others.find((other) => resolvedFrom(path, other) === undefined);
    if (lack === undefined) return scheme;
    firstLack ??= missing(lack, [name, ...others]);
  }
  throw firstLack ?? missing(name, [name, ...beside]);
}

function schemeOf(name: string, { scheme }: StoreUrl, { fromUrl }: { readonly fromUrl?: StoreSchemes }): StoreScheme {
  const found = fromUrl !== undefined && Object.hasOwn(fromUrl, scheme) ? fromUrl[scheme] : undefined;
  if (found !== undefined) return found;
  throw new ConfigurationError(
    `the installed package ${name} opens no URL of ${scheme}:. Install a version of it that fits leasehold ${manifest.version}.`,
  );
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

/** Loads the file of a store's package. @throws {ConfigurationError} if the SDK that it imports is not installed. */
async function load(path: string, name: string): Promise<unknown> {
  try {
    return (await import(pathToFileURL(path).href)) as unknown;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const lack = code === "ERR_MODULE_NOT_FOUND" ? /^Cannot find package '([^']+)'/.exec(message)?.[1] : undefined;
    if (lack === undefined) throw error;
    throw missing(lack, [name, lack]);
  }
}

/** Returns the error for a missing package. Its `npx` line leaves out the packages that come with the command. */
function missing(name: string, packages: readonly string[]): ConfigurationError {
  const line = ["leasehold", ...packages.filter((one) => !Object.hasOwn(manifest.dependencies, one))]
    .map((one) => `-p ${one}`)
    .join(" ");
  return new ConfigurationError(`the package ${name} is not installed. Install it, or run: npx ${line} leasehold …`);
}
