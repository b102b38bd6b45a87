import type { Reporter, TestCase, TestModule } from 'vitest/node'

const namedAtMost = 100

/** Test results of one file, or of several. */
export interface Counts {
  readonly passed: number
  readonly failed: number
  /** The skipped tests, by name. */
  readonly skipped: readonly string[]
}

/**
 * Ends the output of a test run with the files of skipped tests and, on the last line, `N passed, N failed` (`, N
 * skipped` if any). A test file or suite that cannot run counts as failed, and so does an uncaught error.
 */
export function closingLine(): Reporter {
  let counts: Counts | undefined
  return {
    onInit() {
      process.on('exit', () => counts && process.stdout.write(closing(counts)))
    },
    onTestRunEnd(modules, unhandledErrors) {
      counts = sumOf([...modules.map(countsOf), { passed: 0, failed: unhandledErrors.length, skipped: [] }])
    },
  }
}

/** The last lines of a run: skipped tests, one line for each file, and totals. */
export function closing({ passed, failed, skipped }: Counts): string {
  const files = Map.groupBy(skipped, (name) => name.slice(0, name.indexOf(': ')))
  const lines = [...files].map(([file, [first = '', ...others]]) =>
    others.length === 0 ? first : `${file}: ${others.length + 1} tests, the first: ${first.slice(file.length + 2)}`,
  )
  const more = lines.length - namedAtMost
  const names = [...lines.slice(0, namedAtMost), ...(more > 0 ? [`and ${more} more files`] : [])]
  const list = names.length > 0 ? ['Skipped:', ...names.map((name) => `  ${name}`), ''] : []
  const line = `${passed} passed, ${failed} failed${skipped.length > 0 ? `, ${skipped.length} skipped` : ''}`
  return [...list, line, ''].join('\n')
}

/** The results of a file. A suite that failed outside a test counts as the file itself. */
export function countsOf(module: TestModule): Counts {
  const tests = [...module.children.allTests()]
  const broken = [module, ...module.children.allSuites()].filter((part) => part.errors().length > 0)
  return {
    passed: count(tests, 'passed'),
    failed: count(tests, 'failed') + broken.length,
    skipped: tests.filter((test) => !['passed', 'failed'].includes(test.result().state)).map(named),
  }
}

export function sumOf(all: readonly Counts[]): Counts {
  return {
    passed: all.reduce((sum, { passed }) => sum + passed, 0),
    failed: all.reduce((sum, { failed }) => sum + failed, 0),
    skipped: all.flatMap(({ skipped }) => skipped),
  }
}

function count(tests: readonly TestCase[], state: 'passed' | 'failed'): number {
  return tests.filter((test) => test.result().state === state).length
}

/** Project, file and name of a test, and why it was skipped. */
function named(test: TestCase): string {
  const { module, project } = test
  const result = test.result()
  const why = result.state === 'skipped' && result.note ? ` (${result.note})` : ''
  return `${[project.name, module.relativeModuleId].filter(Boolean).join('/')}: ${test.fullName}${why}`
}
