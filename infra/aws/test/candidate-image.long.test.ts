import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { CpuArchitecture } from "aws-cdk-lib/aws-ecs";
import { describe, expect, test } from "vitest";
import { nodeExecutable } from "@leasehold/test-kit/processes/owned-process";
import { CandidateImage, CandidateService, LeaseTable } from "../src/index.ts";
import { existingVpc, onlyOf, strictStack, TABLE_ARN } from "./strict-app.ts";

const entry = fileURLToPath(new URL("../programs/candidate.ts", import.meta.url));
const conditions = ["@leasehold/source"];

describe("the image of a program", () => {
  const image = new CandidateImage(entry, { conditions });

  test("consists of that one file, on a base image with a digest", async () => {
    expect(await readdir(image.folder)).toEqual(["Dockerfile", "candidate.mjs", "candidate.mjs.map"]);
    const dockerfile = await readFile(join(image.folder, "Dockerfile"), "utf8");
    expect(dockerfile).toMatch(/^FROM public\.ecr\.aws\/docker\/library\/node:24\S*@sha256:[0-9a-f]{64}$/m);
    expect(dockerfile).toMatch(/^USER node$/m);
    expect(dockerfile).not.toMatch(/^RUN /m);
  });

  test("contains all imports of the program, and reports a wrong setting in one line", async () => {
    const running = promisify(execFile)(nodeExecutable(), ["--enable-source-maps", join(image.folder, "candidate.mjs")], {
      env: { LEASE_TABLE_REGION: "eu-central-1" },
    });
    await expect(running).rejects.toMatchObject({ stderr: expect.stringMatching(/tableName/) });
  });

  test("is built for the processors that the task definition names", () => {
    const stack = strictStack();
    const table = LeaseTable.fromTableArn(stack, "Leases", TABLE_ARN);
    const vpc = existingVpc(stack);
    new CandidateService(stack, "Candidates", { table, election: "nightly-billing", image, vpc });
    expect(onlyOf(stack, "AWS::ECS::TaskDefinition").Properties).toMatchObject({
      RuntimePlatform: { CpuArchitecture: "ARM64" },
      ContainerDefinitions: [{ Image: { "Fn::Sub": expect.stringContaining("container-assets") } }],
    });
  });

  test("can have other processors and another base image", async () => {
    const other = new CandidateImage(entry, { conditions, cpuArchitecture: CpuArchitecture.X86_64, baseImage: "node:24" });
    expect(other.cpuArchitecture).toBe(CpuArchitecture.X86_64);
    expect(await readFile(join(other.folder, "Dockerfile"), "utf8")).toMatch(/^FROM node:24$/m);
  });
});

test("a program that does not exist is an error", () => {
  expect(() => new CandidateImage("absent.ts")).toThrow("program absent.ts is not there");
});
