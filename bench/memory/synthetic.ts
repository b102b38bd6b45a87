import type { Conversation, Question, Turn } from './locomo.ts'

/** The same numbers each time. */
export function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return state / 2 ** 32
  }
}

interface Topic {
  readonly asks: string
  readonly tells: (value: string) => string
  readonly question: (who: string) => string
  readonly values: readonly string[]
}

// Half of the answers share no word with the question that is asked later: only the turn before them does.
const topics: readonly Topic[] = [
  {
    asks: 'Did you get that kitten you were talking about?',
    tells: (v) => `Yes! She is called ${v} and sleeps all day.`,
    question: (w) => `What is the name of ${w}'s kitten?`,
    values: ['Minka', 'Pepper', 'Olive'],
  },
  {
    asks: 'Where are you flying for the summer holiday?',
    tells: (v) => `We settled on ${v} in the end, two weeks.`,
    question: (w) => `Which place did ${w} choose for the summer holiday?`,
    values: ['Lisbon', 'Crete', 'Iceland'],
  },
  {
    asks: 'How did the job interview go?',
    tells: (v) => `They want me as ${v}, I start in spring.`,
    question: (w) => `What came of ${w}'s job interview?`,
    values: ['a baker', 'an archivist', 'a welder'],
  },
  {
    asks: 'Any news from your sister?',
    tells: (v) => `My sister moved to ${v} with her twins.`,
    question: (w) => `Where does the sister of ${w} live now?`,
    values: ['Antwerp', 'Bergen', 'Porto'],
  },
  {
    asks: 'What are you reading these days?',
    tells: (v) => `I am half way through a book about ${v}.`,
    question: (w) => `What is the book about that ${w} is reading?`,
    values: ['glaciers', 'beekeeping', 'typefaces'],
  },
  {
    asks: 'Is the guitar still gathering dust?',
    tells: (v) => `Not any more: lessons every ${v}.`,
    question: (w) => `On which day does ${w} practise guitar?`,
    values: ['Tuesday', 'Friday', 'Saturday'],
  },
  {
    asks: 'Did the doctor find out why you feel so tired?',
    tells: (v) => `Apparently I lack ${v}, pills for three months.`,
    question: (w) => `What did the doctor say is missing when ${w} was tired?`,
    values: ['iron', 'vitamin D', 'iodine'],
  },
  {
    asks: 'Have you decided on a colour for the kitchen?',
    tells: (v) => `The kitchen will be ${v}, the paint is bought.`,
    question: (w) => `In which colour is ${w} painting the kitchen?`,
    values: ['mustard', 'teal', 'plum'],
  },
  {
    asks: 'How much was the bicycle in the end?',
    tells: (v) => `${v}, and the lock came free.`,
    question: (w) => `What did ${w} pay for the bicycle?`,
    values: ['430 euros', '715 euros', '980 euros'],
  },
  {
    asks: 'Who is coming to your birthday?',
    tells: (v) => `Only ${v} and the neighbours this year.`,
    question: (w) => `Whom did ${w} invite to the birthday?`,
    values: ['Ruth', 'Jonas', 'Amira'],
  },
  {
    asks: 'Did you sell the old car?',
    tells: (v) => `A ${v} from the next village took it.`,
    question: (w) => `To whom did ${w} sell the car?`,
    values: ['florist', 'student', 'plumber'],
  },
  {
    asks: 'What did you cook for the school party?',
    tells: (v) => `I brought ${v}, nothing was left over.`,
    question: (w) => `Which dish did ${w} bring to the school party?`,
    values: ['lentil soup', 'apple strudel', 'samosas'],
  },
]

const chatter = [
  'The weather has been awful all week.',
  'Work is busy as always, nothing to complain about.',
  'I slept badly, the party next door went on for ever.',
  'Did you see the game yesterday?',
  'The car needs new tyres before winter.',
  'My kitchen is a mess, do not ask.',
  'I should read more, honestly.',
  'Let us meet for a coffee soon.',
  'The doctor was running late again, I waited an hour.',
  'Summer cannot come soon enough.',
  'My sister says hello, by the way.',
  'I found an old guitar record at the flea market.',
  'Nothing new here, the usual.',
  'That sounds lovely, tell me more some time.',
  'The school called about the bus again.',
  'I went by bicycle today, it rained of course.',
]

const people = [
  ['Ada', 'Noor'],
  ['Bruno', 'Ines'],
  ['Chloe', 'Tariq'],
  ['Dmitri', 'Elsa'],
] as const

/** Conversations of ours, the same each time: small talk, and in it what is asked for later. */
export function syntheticConversations(): readonly Conversation[] {
  return people.map(([first, second], n) => {
    const next = random(n + 1)
    const pick = <T>(from: readonly T[]): T => from[Math.floor(next() * from.length)] as T
    const turns: Turn[] = []
    const questions: Question[] = []
    for (let session = 1; session <= 24; session++) {
      let count = 0
      const say = (speaker: string, text: string): string => {
        const id = `D${session}:${++count}`
        turns.push({ id, session: `session_${session}`, speaker, text })
        return id
      }
      const topic = topics[(session - 1) % topics.length]
      const [asker, teller] = session > topics.length ? [second, first] : [first, second]
      const at = 3 + Math.floor(next() * 12)
      for (let i = 0; i < 20; i++) {
        if (i === at && topic) {
          say(asker, topic.asks)
          const id = say(teller, topic.tells(pick(topic.values)))
          questions.push({ question: topic.question(teller), evidence: [id] })
        } else say(i % 2 === 0 ? first : second, pick(chatter))
      }
    }
    return { id: `synthetic-${n + 1}`, turns, questions, unanswerable: 0 }
  })
}
