import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

/** The names of real timers, clocks, processes and sockets. */
const REAL_TIME =
  /\b(setTimeout|setInterval|systemClock|waitFor|hrtime|performance\.now)\b|\bexpect\s*\.poll\b|"node:(child_process|dgram|https?|http2|net|timers|tls|worker_threads)/;
const IMPORT = /(?:from|import|import\()\s*"([^"]+)"/g;
const TEST_KIT = "@leasehold/test-kit/";

/**
 * Reports whether a test depends on real time. Reads its file and every test module that it imports, directly or indirectly. The
 * library's sources do not count, because they get their time from a `Clock`. A test in virtual time passes its own.
 * @param file the absolute path of the test's file.
 * @param root the absolute path of the repository.
 */
export function usesRealTime(file: string, root: string): boolean {
  const visited = new Set<string>();
  const visit = (path: string): boolean => {
    if (visited.has(path) || !existsSync(path)) return false;
    visited.add(path);
    const text = readFileSync(path, "utf8");
    if (REAL_TIME.test(text)) return true;
    return [...text.matchAll(IMPORT)].some(([, specifier]) => {
      const imported = testModule(specifier!, path, root);
      return imported !== undefined && visit(imported);
    });
  };
  return visit(file);
}

/** Returns the file of a test module. Undefined for a package, and for the library's sources. */
function testModule(specifier: string, importer: string, root: string): string | undefined {
  if (specifier.startsWith(".")) {
    const path = resolve(dirname(importer), specifier);
    return path.includes("/src/") ? undefined : path;
  }
  if (!specifier.startsWith(TEST_KIT)) return undefined;
  const module = join(root, "test/kit", specifier.slice(TEST_KIT.length));
  return [`${module}.ts`, join(module, "index.ts")].find((path) => existsSync(path));
}
