import { findProgram } from "./find-program.ts";

/** A program of a distribution's packages that tests drive. */
export interface Program {
  readonly name: string;
  /** The package that has it, in Debian. */
  readonly debianPackage: string;
}

/** Browsers, load balancers, checkers, and what peers of ours run on. `.ci/backends` installs their packages. */
export const CHROMIUM: Program = { name: "chromium", debianPackage: "chromium" };
export const CURL: Program = { name: "curl", debianPackage: "curl" };
export const GO: Program = { name: "go", debianPackage: "golang-go" };
export const HAPROXY: Program = { name: "haproxy", debianPackage: "haproxy" };
export const PROMTOOL: Program = { name: "promtool", debianPackage: "prometheus" };
export const PYTHON: Program = { name: "python3", debianPackage: "python3" };
export const REDIS: Program = { name: "redis-server", debianPackage: "redis-server" };
export const SYSTEMD: Program = { name: "systemd-analyze", debianPackage: "systemd" };

/** Why the program cannot be had on this machine; `undefined` if it can. */
export async function programMissing({ name, debianPackage }: Program): Promise<string | undefined> {
  return (await findProgram(name)) === undefined ? `${name} is not installed: apt-get install ${debianPackage}` : undefined;
}

/** Returns where a program is. @throws if it is missing. */
export async function programPath(program: Program): Promise<string> {
  const path = await findProgram(program.name);
  if (path === undefined) throw new Error(await programMissing(program));
  return path;
}
