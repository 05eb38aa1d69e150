/** As in a user's shell: without what npm and Vitest tell the programs that they start. Certificates to trust are the user's. */
export function userEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_(?!EXTRA_CA_CERTS$)|VITEST|DATABASE_URL|PORT$)/.test(name)),
  );
}
