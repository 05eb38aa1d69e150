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
 * Starts moto on 127.0.0.1: many services of AWS, with their data in memory. Its `url` is a client's endpoint; any credentials
 * are accepted. It carries out one request at a time; moto's own server does not, and loses updates. Its clock only dates the
 * replies.
 * @throws an error with the process's stderr, if it ends or takes too long before it serves.
 */
export async function startMoto(): Promise<ServiceProcess> {
  const script = fileURLToPath(new URL("./moto-launcher.py", import.meta.url));
  // `-u` keeps the last output of a process that ends. `-B` leaves no compiled files beside the script.
  return await startServiceProcess({ name: "moto", command: "python3", args: ["-u", "-B", script] });
}
