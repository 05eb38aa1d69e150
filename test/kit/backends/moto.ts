import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startServiceProcess } from "./service-process.ts";
import type { ServiceProcess } from "./service-process.ts";

/** Why moto cannot be started on this machine; `undefined` if it can. */
export async function motoMissing(): Promise<string | undefined> {
  try {
    await promisify(execFile)("python3", [
      "-c",
      "import importlib.util as u; assert u.find_spec('moto') and u.find_spec('flask')",
    ]);
    return undefined;
  } catch {
    return "moto is not installed: python3 -m pip install 'moto[server]'";
  }
}

/**
 * Starts moto on 127.0.0.1: many services of AWS, holding their data in memory. Its `url` is what a client calls the
 * endpoint; any credentials will do. It carries out one request at a time, in contrast to moto's own server, which loses
 * updates. Its clock dates the replies, and nothing else.
 * @throws an error with what the process wrote to stderr, if it ends or takes too long before it serves.
 */
export async function startMoto(): Promise<ServiceProcess> {
  const script = fileURLToPath(new URL("./moto-launcher.py", import.meta.url));
  // `-u`, or the last words of a process that ends could be lost; `-B` leaves no compiled files next to the script.
  return await startServiceProcess({ name: "moto", command: "python3", args: ["-u", "-B", script] });
}
