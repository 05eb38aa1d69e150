import { test as base } from "vitest";
import { FirestoreWorld } from "./firestore-world.ts";

/** A test with a world of its own: a server, and everything that is connected to it. */
export const test = base.extend("world", async ({}, { onCleanup }) => {
  const world = await FirestoreWorld.start();
  onCleanup(async () => world[Symbol.asyncDispose]());
  return world;
});
