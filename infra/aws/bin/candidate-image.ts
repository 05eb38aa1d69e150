import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { Platform } from "aws-cdk-lib/aws-ecr-assets";
import { ContainerImage, CpuArchitecture } from "aws-cdk-lib/aws-ecs";
import { buildSync } from "esbuild";

/** What the image is for. Nothing runs while it is built, so it can be built anywhere. */
export const CANDIDATE_ARCHITECTURE: CpuArchitecture = CpuArchitecture.ARM64;

/** The image of `candidate.ts`, put together in `folder`: one file with all that it imports. Docker is needed to deploy it, and not to synthesize. */
export function candidateImage(programs: string, folder: string): ContainerImage {
  bundleCandidate(programs, folder);
  return ContainerImage.fromAsset(folder, { platform: Platform.LINUX_ARM64 });
}

/** Puts what the image is built from into `folder`. */
export function bundleCandidate(programs: string, folder: string): void {
  mkdirSync(folder, { recursive: true });
  buildSync({
    entryPoints: [join(programs, "candidate.ts")],
    outfile: join(folder, "candidate.mjs"),
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node24",
    conditions: ["@leasehold/source", "module"],
    // The SDK has CommonJS parts.
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    logLevel: "warning",
  });
  copyFileSync(join(programs, "Dockerfile"), join(folder, "Dockerfile"));
}
