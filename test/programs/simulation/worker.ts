/** A thread that runs the seeds it is sent, and sends back what they came to. An entry point. */
import { parentPort } from "node:worker_threads";
import { warmUp } from "@leasehold/test-kit/simulated/dynamodb-service";
import { runSeeds, type Seeds } from "./seeds.ts";

// Most errors here are expected, and nobody looks where they came from.
Error.stackTraceLimit = 0;
await warmUp();
parentPort?.on("message", (seeds: Seeds) => void runSeeds(seeds).then(send));
send("ready");

function send(message: unknown): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(message);
}
