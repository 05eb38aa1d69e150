/** Returns the environment of a user's shell, without the variables of npm and Vitest. Trusted certificates are the user's. */
export function userEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_(?!EXTRA_CA_CERTS$)|VITEST|DATABASE_URL|PORT$)/.test(name)),
  );
}
