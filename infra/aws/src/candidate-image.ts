import { existsSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join, resolve } from "node:path";
import { ConfigurationError } from "@leasehold/core";
import { Platform } from "aws-cdk-lib/aws-ecr-assets";
import { ContainerImage, CpuArchitecture, type ContainerDefinition, type ContainerImageConfig } from "aws-cdk-lib/aws-ecs";
import { FileSystem } from "aws-cdk-lib/core";
import type { Construct } from "constructs";
import type * as Esbuild from "esbuild";
import { BUNDLE_TARGET, REQUIRE_BANNER } from "./bundling.ts";

/** The settings of a {@link CandidateImage}. */
export interface CandidateImageProps {
  /**
   * The processors that the image is built for. The build runs no program, so any machine can build either.
   * @default CpuArchitecture.ARM64
   */
  readonly cpuArchitecture?: CpuArchitecture;
  /**
   * The base image, which has to contain Node.
   * @default - Node 24 on Debian, from Amazon's public registry, by its digest
   */
  readonly baseImage?: string;
  /**
   * Further conditions of `exports` by which esbuild finds packages.
   * @default - none
   */
  readonly conditions?: string[];
}

/**
 * The official image in Amazon's public registry, which needs no account. The digest covers all processors. It is Node 24.19.0 of
 * August 2026. For a newer one, change this line or pass `baseImage`.
 */
const NODE_IMAGE =
  "public.ecr.aws/docker/library/node:24.19.0-bookworm-slim@sha256:a9f5f7c91a432850b2a8a7797adf5eadb6c733ceed61167806cee7ea7fbc29df";
const PROGRAM = "candidate.mjs";

/**
 * The image of a candidate: a program in TypeScript, which esbuild bundles with all its imports into one file. Synthesis needs
 * `esbuild` among the app's packages. Deployment needs Docker, which builds the image and pushes it to the repository that
 * `cdk bootstrap` has made.
 */
export class CandidateImage extends ContainerImage {
  readonly cpuArchitecture: CpuArchitecture;
  readonly #folder: string;

  /**
   * @param entry the program's file.
   * @throws {ConfigurationError} without that file, or without esbuild.
   */
  constructor(entry: string, props: CandidateImageProps = {}) {
    super();
    const { cpuArchitecture = CpuArchitecture.ARM64, baseImage = NODE_IMAGE, conditions = [] } = props;
    if (!existsSync(entry)) throw new ConfigurationError(`The candidate's program ${entry} is not there.`);
    this.cpuArchitecture = cpuArchitecture;
    this.#folder = FileSystem.mkdtemp("leasehold-candidate-");
    bundle(entry, this.#folder, conditions);
    writeFileSync(join(this.#folder, "Dockerfile"), dockerfile(baseImage));
  }

  /** The folder from which the image is built: a Dockerfile and the files that it copies. */
  get folder(): string {
    return this.#folder;
  }

  override bind(scope: Construct, container: ContainerDefinition): ContainerImageConfig {
    const platform = this.cpuArchitecture === CpuArchitecture.ARM64 ? Platform.LINUX_ARM64 : Platform.LINUX_AMD64;
    return ContainerImage.fromAsset(this.#folder, { platform }).bind(scope, container);
  }
}

/** With this form of CMD, Node is process 1 and gets SIGTERM itself. */
function dockerfile(baseImage: string): string {
  return `FROM ${baseImage}
ENV NODE_ENV=production
USER node
COPY ${PROGRAM} ${PROGRAM}.map /candidate/
CMD ["node", "--enable-source-maps", "/candidate/${PROGRAM}"]
`;
}

/**
 * Writes the bundle and its source map. All paths in them are relative to the program's folder, so that every checkout builds the
 * same image.
 */
function bundle(entry: string, folder: string, conditions: readonly string[]): void {
  const programFolder = dirname(resolve(entry));
  const { outputFiles } = esbuild().buildSync({
    absWorkingDir: programFolder,
    entryPoints: [resolve(entry)],
    outfile: join(programFolder, PROGRAM),
    write: false,
    bundle: true,
    platform: "node",
    format: "esm",
    target: BUNDLE_TARGET,
    sourcemap: true,
    sourcesContent: false,
    conditions: [...conditions, "module"],
    banner: { js: REQUIRE_BANNER },
    logLevel: "warning",
  });
  for (const { path, contents } of outputFiles) writeFileSync(join(folder, basename(path)), contents);
}

/** Returns the app's own esbuild, which NodejsFunction also uses. */
function esbuild(): typeof Esbuild {
  try {
    return createRequire(join(process.cwd(), "cdk.json"))("esbuild") as typeof Esbuild;
  } catch (cause) {
    throw new ConfigurationError(
      "A CandidateImage is bundled by esbuild, which is not installed: npm install --save-dev esbuild",
      {
        cause,
      },
    );
  }
}
