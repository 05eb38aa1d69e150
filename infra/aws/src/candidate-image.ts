import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { ConfigurationError } from "@leasehold/core";
import { Platform } from "aws-cdk-lib/aws-ecr-assets";
import { ContainerImage, CpuArchitecture, type ContainerDefinition, type ContainerImageConfig } from "aws-cdk-lib/aws-ecs";
import { FileSystem } from "aws-cdk-lib/core";
import type { Construct } from "constructs";
import type * as Esbuild from "esbuild";

/** What a {@link CandidateImage} may be told. */
export interface CandidateImageProps {
  /**
   * The processors that it is built for. Nothing runs while it is built, so any machine can build either.
   * @default CpuArchitecture.ARM64
   */
  readonly cpuArchitecture?: CpuArchitecture;
  /**
   * The image that it is based on, which has Node.
   * @default - Node 24 on Debian, from Amazon's public registry, by its digest
   */
  readonly baseImage?: string;
  /**
   * Further conditions of `exports` that packages are found by.
   * @default - none
   */
  readonly conditions?: string[];
}

/**
 * The official image, as Amazon's public registry has it, which asks for no account. A digest is of all processors.
 * Node 24.19.0 of August 2026: a newer one is a change of this line, or `baseImage`.
 */
const NODE_IMAGE =
  "public.ecr.aws/docker/library/node:24.19.0-bookworm-slim@sha256:a9f5f7c91a432850b2a8a7797adf5eadb6c733ceed61167806cee7ea7fbc29df";
const PROGRAM = "candidate.mjs";

/**
 * The image of a candidate: a program in TypeScript, bundled by esbuild into one file with all that it imports. Synthesizing
 * needs `esbuild` among the app's packages, and deploying needs Docker, which builds the image and pushes it to the
 * repository that `cdk bootstrap` has made.
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

  /** Where what the image is built from has been put: a Dockerfile, and what it copies. */
  get folder(): string {
    return this.#folder;
  }

  override bind(scope: Construct, container: ContainerDefinition): ContainerImageConfig {
    const platform = this.cpuArchitecture === CpuArchitecture.ARM64 ? Platform.LINUX_ARM64 : Platform.LINUX_AMD64;
    return ContainerImage.fromAsset(this.#folder, { platform }).bind(scope, container);
  }
}

/** In the form of its CMD Node is process 1, and gets SIGTERM itself. */
function dockerfile(baseImage: string): string {
  return `FROM ${baseImage}
ENV NODE_ENV=production
USER node
COPY ${PROGRAM} ${PROGRAM}.map /candidate/
CMD ["node", "--enable-source-maps", "/candidate/${PROGRAM}"]
`;
}

function bundle(entry: string, folder: string, conditions: readonly string[]): void {
  mkdirSync(folder, { recursive: true });
  esbuild().buildSync({
    entryPoints: [entry],
    outfile: join(folder, PROGRAM),
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node24",
    sourcemap: true,
    sourcesContent: false,
    conditions: [...conditions, "module"],
    // The SDK has CommonJS parts.
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    logLevel: "warning",
  });
}

/** The app's own esbuild, as NodejsFunction finds it, too. */
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
