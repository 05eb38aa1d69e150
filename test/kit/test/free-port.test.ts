import { expect, test } from "vitest";
import { freePort } from "../backends/free-port.ts";

test("no port is returned twice, although no process listens on it yet", async () => {
  const ports: number[] = [];
  for (let count = 0; count < 300; count += 1) ports.push(await freePort());
  expect(new Set(ports).size).toBe(ports.length);
});
