import { findProgram } from "./find-program.ts";

/** A program from a distribution's packages that tests use. */
export interface Program {
  readonly name: string;
  /** The Debian package that contains it. */
  readonly debianPackage: string;
}

/** Browsers, load balancers, checkers, shells, and programs that run other libraries. `.ci/backends` installs their packages. */
export const BUSYBOX: Program = { name: "busybox", debianPackage: "busybox" };
export const CHROMIUM: Program = { name: "chromium", debianPackage: "chromium" };
export const CURL: Program = { name: "curl", debianPackage: "curl" };
export const FISH: Program = { name: "fish", debianPackage: "fish" };
export const GO: Program = { name: "go", debianPackage: "golang-go" };
export const HAPROXY: Program = { name: "haproxy", debianPackage: "haproxy" };
export const PROMTOOL: Program = { name: "promtool", debianPackage: "prometheus" };
export const PYTHON: Program = { name: "python3", debianPackage: "python3" };
export const REDIS: Program = { name: "redis-server", debianPackage: "redis-server" };
export const SYSTEMD: Program = { name: "systemd-analyze", debianPackage: "systemd" };
export const ZSH: Program = { name: "zsh", debianPackage: "zsh" };

/** Returns why the program is not available on this machine; `undefined` if it is. */
export async function programMissing({ name, debianPackage }: Program): Promise<string | undefined> {
  return (await findProgram(name)) === undefined ? `${name} is not installed: apt-get install ${debianPackage}` : undefined;
}

/** Returns the path of a program. @throws if it is missing. */
export async function programPath(program: Program): Promise<string> {
  const path = await findProgram(program.name);
  if (path === undefined) throw new Error(await programMissing(program));
  return path;
}
