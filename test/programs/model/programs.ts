import { spawnSync } from "node:child_process";
import { findProgram } from "@leasehold/test-kit/backends/find-program";

/** The programs that the checks run, and the Debian packages that contain them. */
const PACKAGES = { spin: ["spin"], gcc: ["gcc", "libc6-dev"] } as const;

/** The paths of the programs. */
export interface Programs {
  readonly spin: string;
  readonly gcc: string;
}

/**
 * Finds Spin and a C compiler, and installs missing ones from Debian's packages.
 * @throws an error with one line that says what to install, if that fails.
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
  // The package lists may be missing or out of date; they are updated only if the first attempt fails.
  if (!aptGet("install", ...packages) && aptGet("update")) aptGet("install", ...packages);
  return await find();
}

/** Runs apt-get without questions. Reports whether it succeeded. */
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
