import type { Random } from './random.js';
import { TOPICS, type Topic } from './topics.js';

export interface Person {
  readonly id: string;
  readonly handle: string;
  readonly displayName: string;
  readonly avatarUrl: string | null;
  /** What they post about, favourite first. */
  readonly topics: readonly Topic[];
}

/** The demo's reader: `ann` with id 1, for the first query of the README. */
export const READER_ID = '1';

export function createPeople(random: Random, count: number): Person[] {
  const handles = new Set(['ann']);
  const people: Person[] = [
    {
      id: READER_ID,
      handle: 'ann',
      displayName: 'Ann Lindqvist',
      avatarUrl: avatarOf('ann'),
      topics: pickTopics(random),
    },
  ];
  while (people.length < count) {
    const first = random.pick(FIRST_NAMES);
    const last = random.pick(LAST_NAMES);
    const handle = chooseHandle(random, first, last);
    if (handles.has(handle)) continue;
    handles.add(handle);
    people.push({
      id: String(people.length + 1),
      handle,
      displayName: random.chance(0.85) ? `${first} ${last}` : first,
      avatarUrl: random.chance(0.85) ? avatarOf(handle) : null,
      topics: pickTopics(random),
    });
  }
  return people;
}

function chooseHandle(random: Random, first: string, last: string): string {
  const [a, b] = [toHandle(first), toHandle(last)];
  const year = String(70 + random.below(30));
  return random.pick([a + b, `${a}.${b}`, `${a}_${b}`, `${a.charAt(0)}${b}`, `${a}${year}`, `${a}${b.charAt(0)}`]);
}

/** Letters without their marks. */
const toHandle = (name: string): string =>
  name
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll('ø', 'o')
    .replaceAll('ł', 'l')
    .replace(/[^a-z]/g, '');

const avatarOf = (handle: string): string => `https://example.org/avatars/${handle}.png`;

function pickTopics(random: Random): Topic[] {
  const wanted = 1 + random.below(3);
  const topics = new Set<Topic>();
  while (topics.size < wanted) topics.add(random.pick(TOPICS));
  return [...topics];
}

const FIRST_NAMES = `Ada Adele Aisha Akira Alba Alina Amara Amir Anika Anton Aoife Arjun Astrid Aylin Bao Beatriz Benoît
Bruno Camila Carmen Chidi Chloé Clara Daan Dalia Daniel Dario Deniz Diego Dina Elena Elias Emeka Emma Esra Ewa Farah
Felix Femi Fiona Freya Gael Giulia Goran Grace Hana Hannah Hugo Ida Ines Ingrid Ivan Jamal Jana Jin Joana Jonas Julia
Kamal Karin Katya Kenji Lars Laura Leila Lena Leo Lior Lucía Luka Maja Malik Marco Maren Mateo Maya Mei Mila Mina Mira
Nadia Naomi Nia Nikhil Nils Nora Olga Omar Oskar Paola Pavel Petra Priya Quentin Rafael Rania Ravi Rosa Ruth Sami Sana
Selma Sofia Soren Stella Sven Tara Tariq Tessa Thomas Tomás Uma Vera Viktor Wanda Willa Xenia Yara Yasmin Youssef Yuki
Zeynep Zoë`.split(/\s+/);

const LAST_NAMES = `Abbas Achterberg Adeyemi Almeida Andersen Aydın Bakker Barros Becker Bianchi Boateng Brandt Castillo
Chen Cohen Costa Da-Silva Dietrich Dubois Eriksen Fernández Fischer Fontaine Fujita Gallo García Greco Haddad Hansen
Hoffmann Horvat Ibrahim Ito Jansen Jovanović Kaplan Kaur Khan Kim Kovács Kowalska Kruger Larsen Laurent Lindgren Lopes
Łukasik Mahmoud Marino Mbeki Meyer Moreau Müller Mwangi Nakamura Nasser Nguyen Novak O'Brien Okafor Olsson Onyango Ortiz
Osei Park Patel Pereira Petrov Popescu Quinn Rahman Ramos Rossi Sato Schmidt Serrano Shah Silva Sørensen Sokolov Suzuki
Takahashi Tanaka Thorne Torres Vasquez Vermeer Virtanen Wagner Walker Weiss Yamada Yılmaz Zhang Zimmer`.split(/\s+/);
