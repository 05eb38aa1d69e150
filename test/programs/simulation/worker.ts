/** A thread that runs the seeds that it gets, and sends back their results. An entry point. */
import { parentPort } from "node:worker_threads";
import { warmUp } from "@leasehold/test-kit/simulated/dynamodb-service";
import { runSeeds, type Seeds } from "./seeds.ts";

// Most errors here are expected, so their stacks are not needed.
Error.stackTraceLimit = 0;
await warmUp();
parentPort?.on("message", (seeds: Seeds) => void runSeeds(seeds).then(send));
send("ready");

function send(message: unknown): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(message);
}
