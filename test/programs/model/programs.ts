import { spawnSync } from "node:child_process";
import { findProgram } from "@leasehold/test-kit/backends/find-program";

/** The programs that the checks run, and the Debian packages that have them. */
const PACKAGES = { spin: ["spin"], gcc: ["gcc", "libc6-dev"] } as const;

/** Where the programs are. */
export interface Programs {
  readonly spin: string;
  readonly gcc: string;
}

/**
 * Finds Spin and a C compiler, and installs what is missing from Debian's packages.
 * @throws with one line that says what to install, where that cannot be done.
 */
export async function findPrograms(): Promise<Programs> {
  const found = await find();
  const missing = (["spin", "gcc"] as const).filter((name) => found[name] === undefined).flatMap((name) => PACKAGES[name]);
  const { spin, gcc } = missing.length > 0 ? await installed(missing) : found;
  if (spin === undefined || gcc === undefined)
    throw new Error(`${missing.join(" ")} missing: apt-get install ${missing.join(" ")}`);
  return { spin, gcc };
}

async function find(): Promise<Partial<Programs>> {
  const [spin, gcc] = await Promise.all([findProgram("spin"), findProgram("gcc")]);
  return { ...(spin === undefined ? {} : { spin }), ...(gcc === undefined ? {} : { gcc }) };
}

async function installed(packages: readonly string[]): Promise<Partial<Programs>> {
  process.stderr.write(`installing: ${packages.join(" ")}\n`);
  // The lists of packages may be missing or out of date, but seldom are.
  if (!aptGet("install", ...packages) && aptGet("update")) aptGet("install", ...packages);
  return await find();
}

/** Runs apt-get without asking anything. Returns whether it has succeeded. */
function aptGet(command: string, ...packages: readonly string[]): boolean {
  const asRoot = process.getuid?.() === 0 ? [] : ["sudo", "-n"];
  const options = ["-o", "DPkg::Lock::Timeout=120", "-qq", "-y", "--no-install-recommends"];
  const [program = "", ...args] = [
    ...asRoot,
    "env",
    "DEBIAN_FRONTEND=noninteractive",
    "apt-get",
    ...options,
    command,
    ...packages,
  ];
  return spawnSync(program, args, { stdio: ["ignore", "ignore", "inherit"] }).status === 0;
}
